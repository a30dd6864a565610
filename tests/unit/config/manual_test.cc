// SPDX-License-Identifier: Apache-2.0
//
// The table of settings in docs/OPERATIONS.md says what the settings are.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "config/settings.h"

namespace gopmill {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Row {
  std::string flag, preset, accepted, live;
};

// By the name in the file: the rows of the first table.
std::map<std::string, Row> RowsOfTheManual() {
  std::map<std::string, Row> rows;
  std::ifstream manual(GOPMILL_MANUAL);
  for (std::string line; std::getline(manual, line);) {
    if (!line.starts_with("| `")) {
      if (rows.empty()) continue;
      break;
    }
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(line, '|')) cells.emplace_back(Trim(cell));
    if (cells.size() != 7) {
      ADD_FAILURE() << "not five columns: " << line;
      continue;
    }
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    rows[name] = {.flag = cells[2], .preset = cells[3], .accepted = cells[4], .live = cells[5]};
  }
  return rows;
}

std::string NameInTheFile(const Setting& setting) {
  std::string name(setting.pointer.substr(1));
  std::ranges::replace(name, '/', '.');
  return name;
}

// As the table writes numbers; those of bytes with their unit.
std::string Written(const Setting& setting, std::int64_t value) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {std::int64_t{1} << 30, "GiB"}, {std::int64_t{1} << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (!setting.pointer.ends_with("bytes") || value == 0 || value % unit != 0) continue;
    return fmt::format("{} {}", value / unit, name);
  }
  return std::to_string(value);
}

void CheckNumber(const Setting& setting, const Row& row) {
  ServerConfig preset;
  EXPECT_EQ(row.preset, Written(setting, setting.number(preset)));
  std::string low = Written(setting, setting.low);
  const std::string high = Written(setting, setting.high);
  const std::string unit = low.substr(low.find(' ') + 1);
  if (high.ends_with(unit)) low = low.substr(0, low.find(' '));
  EXPECT_THAT(row.accepted, StartsWith(low + " to " + high));
}

// Nothing is said in words; the ladder is told by its ends.
void CheckText(const Setting& setting, const Row& row) {
  const std::string value = GetText(setting, ServerConfig());
  if (value.empty()) {
    EXPECT_THAT(row.preset, AnyOf("", "one class", StartsWith("none")));
  } else if (setting.pointer == "/segments/ladder") {
    std::vector<std::string> heights;
    for (const std::string_view rung : Split(value, ',')) {
      const std::size_t at = rung.find('x') + 1;
      heights.emplace_back(rung.substr(at, rung.find(':') - at));
    }
    EXPECT_EQ(row.preset, fmt::format("{}p to {}p, {} renditions", heights.front(), heights.back(),
                                      heights.size()));
  } else {
    EXPECT_EQ(row.preset, fmt::format("`{}`", value));
  }
}

TEST(ManualTest, HasARowForEachSettingThatIsTrue) {
  auto rows = RowsOfTheManual();
  for (const Setting& setting : Settings()) {
    const std::string name = NameInTheFile(setting);
    const auto found = rows.find(name);
    if (found == rows.end()) {
      ADD_FAILURE() << name << " has no row";
      continue;
    }
    SCOPED_TRACE(name);
    const Row row = found->second;
    rows.erase(found);
    EXPECT_EQ(row.flag, setting.flag.empty() ? "" : fmt::format("`{}`", setting.flag));
    EXPECT_EQ(row.live.starts_with("yes"), setting.reloadable) << row.live;
    setting.number != nullptr ? CheckNumber(setting, row) : CheckText(setting, row);
    for (const std::string_view choice : setting.choices) {
      EXPECT_THAT(row.accepted, HasSubstr(fmt::format("`{}`", choice)));
    }
  }
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is no setting";
}

}  // namespace
}  // namespace gopmill
