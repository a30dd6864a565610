// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers as people write them in settings, requests and on the command line: decimal digits
// and nothing else, so that 010 is ten, and signs, blanks and exponents are mistakes.
//
// Thread-safety: safe (pure function).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gopmill {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Nothing if it is anything else, or has more than `max_digits` (at most 18) of them.
inline std::optional<std::int64_t> ParseDigits(std::string_view text, std::size_t max_digits = 13) {
  if (text.empty() || text.size() > max_digits) return std::nullopt;
  if (!std::ranges::all_of(text, IsDigit)) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

}  // namespace gopmill
