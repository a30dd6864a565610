// SPDX-License-Identifier: Apache-2.0
#include "server/cli/whole_number.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>
#include <string>

namespace gopmill::cli {
namespace {

std::optional<std::int64_t> ParseWhole(const std::string& text) {
  constexpr std::size_t kMaxDigits = 13;  // as of a setting
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > kMaxDigits || !digits) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

CLI::Validator WholeNumber(std::int64_t low, std::int64_t high) {
  const auto check = [low, high](std::string& text) {
    const auto value = ParseWhole(text);
    if (!value || *value < low || *value > high) {
      return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
    }
    text = fmt::format("{}", *value);
    return std::string();
  };
  return {check, fmt::format("{} to {}", low, high)};
}

}  // namespace gopmill::cli
