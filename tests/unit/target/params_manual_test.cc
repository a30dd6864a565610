// SPDX-License-Identifier: Apache-2.0
//
// The table of parameters in docs/API.md says what requests may ask for.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "media/target_params.h"

namespace gopmill {
namespace {

struct ParamRow {
  std::string accepted, preset;
};

// By their names: the rows of the first table under "Transcoding".
std::map<std::string, ParamRow> ParamRowsOfTheManual() {
  std::map<std::string, ParamRow> rows;
  std::ifstream manual(GOPMILL_API_MANUAL);
  std::string line;
  while (std::getline(manual, line) && line != "## Transcoding") {
  }
  while (std::getline(manual, line)) {
    if (!line.starts_with("| `")) {
      if (rows.empty()) continue;
      break;
    }
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(line, '|')) cells.emplace_back(Trim(cell));
    if (cells.size() != 6) {
      ADD_FAILURE() << "not four columns: " << line;
      continue;
    }
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    rows[name] = {.accepted = cells[2], .preset = cells[3]};
  }
  return rows;
}

std::string WithoutQuotes(std::string text) {
  std::erase(text, '`');
  return text;
}

TEST(ParamsManualTest, HasARowForEachParameterThatIsTrue) {
  auto rows = ParamRowsOfTheManual();
  for (const ParamDoc& doc : TargetParams()) {
    const auto found = rows.find(std::string(doc.name));
    if (found == rows.end()) {
      ADD_FAILURE() << doc.name << " has no row";
      continue;
    }
    SCOPED_TRACE(doc.name);
    const ParamRow row = found->second;
    rows.erase(found);
    EXPECT_EQ(WithoutQuotes(row.accepted), doc.accepted);
    if (!row.preset.starts_with('`')) continue;  // in words
    TargetRequest request;
    EXPECT_TRUE(SetParam(request, doc.name, WithoutQuotes(row.preset)).ok()) << row.preset;
  }
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is no parameter";
}

}  // namespace
}  // namespace gopmill
