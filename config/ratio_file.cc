// SPDX-License-Identifier: Apache-2.0
#include "config/ratio_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "config/small_file.h"

namespace gopmill {
namespace {

using Json = nlohmann::json;

constexpr double kLargestRatio = 1e6;

Error Wrong(const std::string& file, const std::string& what) {
  return InvalidArgument(
      "ratios", file + ": " + what,
      "a JSON array of N arrays of N numbers of 1 to 1e6, N workers, at most 256");
}

Result<std::string> ReadSmall(const std::string& file) {
  auto text = ReadSmallFile(file, kMaxRatioFileBytes);
  if (text.ok()) return text;
  const bool large = text.error().code == Code::kResourceExhausted;
  return Wrong(file, large ? "The file is larger than 4 MiB." : "The file cannot be read.");
}

// Flat lists of numbers only: anything deeper would be refused anyway, but by recursion.
bool NestsTooDeep(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > 2) return true;
  }
  return false;
}

Result<std::string> RowText(const std::string& file, const Json& row, std::size_t index,
                            std::size_t rows) {
  if (!row.is_array() || row.size() != rows) {
    return Wrong(file, fmt::format("Row {} is not a list of {} numbers.", index, rows));
  }
  std::string text;
  for (std::size_t column = 0; column < rows; ++column) {
    const Json& value = row[column];
    const double ratio = value.is_number() ? value.get<double>() : 0;
    if (!(ratio >= 1 && ratio <= kLargestRatio)) {
      return Wrong(file,
                   fmt::format("Row {}, column {} is not a number of 1 to 1e6.", index, column));
    }
    text += (text.empty() ? "" : "/") + fmt::format("{}", ratio);
  }
  return text;
}

Result<std::string> MatrixText(const std::string& file) {
  GOPMILL_ASSIGN_OR_RETURN(const std::string text, ReadSmall(file));
  const Json json = NestsTooDeep(text) ? Json() : Json::parse(text, nullptr, false);
  if (!json.is_array() || json.size() < 2 || json.size() > kMaxRatioRows) {
    return Wrong(file, "This is not a list of 2 to 256 rows.");
  }
  std::string matrix;
  for (std::size_t i = 0; i < json.size(); ++i) {
    GOPMILL_ASSIGN_OR_RETURN(const std::string row, RowText(file, json[i], i, json.size()));
    matrix += (i == 0 ? "" : ";") + row;
  }
  return matrix;
}

}  // namespace

Result<std::string> WithRatioFiles(const std::string& options) {
  constexpr std::string_view kName = "ratios=", kEnding = ".json";
  std::string resolved;
  for (std::size_t begin = 0; begin < options.size();) {
    const std::size_t end = std::min(options.find(',', begin), options.size());
    std::string part = options.substr(begin, end - begin);
    if (part.starts_with(kName) && part.ends_with(kEnding)) {
      GOPMILL_ASSIGN_OR_RETURN(const std::string matrix, MatrixText(part.substr(kName.size())));
      part = std::string(kName) + matrix;
    }
    resolved += part;
    if (end < options.size()) resolved += ",";
    begin = end + 1;
  }
  return resolved;
}

}  // namespace gopmill
