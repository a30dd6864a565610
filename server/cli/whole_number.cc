// SPDX-License-Identifier: Apache-2.0
#include "server/cli/whole_number.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "base/digits.h"

namespace gopmill::cli {

CLI::Validator WholeNumber(std::int64_t low, std::int64_t high) {
  const auto check = [low, high](std::string& text) {
    const auto value = ParseDigits(text);
    if (!value || *value < low || *value > high) {
      return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
    }
    text = fmt::format("{}", *value);
    return std::string();
  };
  return {check, fmt::format("{} to {}", low, high)};
}

}  // namespace gopmill::cli
