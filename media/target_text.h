// SPDX-License-Identifier: Apache-2.0
//
// Small text functions behind the request parameters. Strict: the whole text must match, there are
// no signs, blanks, exponents, "nan" or "inf", and the locale plays no part.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rational.h"

namespace gopmill {

// The text in single quotes for a message: at most 40 characters of it, unprintable ones as '?', so
// that whatever a client sent can go to a terminal, a log or JSON.
std::string Quoted(std::string_view text);

// A whole number of at most 12 digits.
std::optional<std::int64_t> ParseWhole(std::string_view text);

// digits[.digits] as an exact fraction; six places count, further ones are dropped.
std::optional<Rational> ParseDecimal(std::string_view text);

// "29.97" for 30000/1001: at most three places, no trailing zeros. For people, not for parsing.
std::string DecimalText(Rational value);

}  // namespace gopmill
