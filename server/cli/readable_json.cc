// SPDX-License-Identifier: Apache-2.0
//
// Reports are made once, as JSON; what people read is laid out from it, so the two cannot differ.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/dump_json.h"
#include "server/cli/text_output.h"

namespace gopmill::cli {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

bool IsTable(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

std::string CellText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    std::string text = fmt::format("{:.3f}", value.get<double>());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }
  if (!value.is_array()) return DumpJson(value);
  Row cells;
  for (const Json& each : value) cells.push_back(CellText(each));
  return fmt::format("{}", fmt::join(cells, ", "));
}

std::string Aligned(const std::vector<Row>& rows, const std::vector<bool>& right,
                    const std::string& indent) {
  std::vector<std::size_t> widths(right.size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += right[i] ? fmt::format("{:>{}}  ", row[i], widths[i])
                       : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Table(const Json& list, const std::string& indent) {
  Row header;
  std::vector<bool> right;
  for (const Json& row : list) {
    for (const auto& [key, value] : row.items()) {
      if (std::find(header.begin(), header.end(), key) != header.end()) continue;
      header.push_back(key);
      right.push_back(value.is_number());
    }
  }
  std::vector<Row> rows = {header};
  for (const Json& row : list) {
    Row cells;
    for (const std::string& key : header) {
      cells.push_back(row.contains(key) ? CellText(row.at(key)) : "");
    }
    rows.push_back(std::move(cells));
  }
  return Aligned(rows, right, indent);
}

// Plain values first, then what is nested, each under its name.
std::string ObjectText(const Json& object, const std::string& indent) {
  std::vector<Row> plain;
  std::string nested;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && !value.empty()) {
      nested += indent + key + ":\n" + ObjectText(value, indent + "  ");
    } else if (IsTable(value)) {
      nested += indent + key + ":\n" + Table(value, indent + "  ");
    } else {
      plain.push_back({key, CellText(value)});
    }
  }
  return Aligned(plain, {false, false}, indent) + nested;
}

}  // namespace

std::string ReadableJson(const std::string& json) {
  constexpr bool kThrow = false;
  const Json value = Json::parse(json, nullptr, kThrow);
  if (!value.is_object()) return json + "\n";
  return ObjectText(value, "");
}

}  // namespace gopmill::cli
