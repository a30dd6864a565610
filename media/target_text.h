// SPDX-License-Identifier: Apache-2.0
//
// The text forms of numbers, rates and times behind the request parameters. Strict: the whole text
// must match, there are no signs, blanks, exponents, "nan" or "inf", and the locale plays no part.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rational.h"
#include "base/status.h"

namespace gopmill {

// The text in single quotes for a message: at most 40 characters of it, unprintable ones as '?', so
// that whatever a client sent can go to a terminal, a log or JSON.
std::string Quoted(std::string_view text);

// A whole number of at most 12 digits.
std::optional<std::int64_t> ParseWhole(std::string_view text);

// digits[.digits] as an exact fraction; six places count, further ones are dropped.
std::optional<Rational> ParseDecimal(std::string_view text);

// Text forms shared by the command line, the config file and HTTP. Malformed ones are
// kInvalidArgument with `accepted` filled in; any range is for the caller to check.
Result<std::int64_t> ParseBits(std::string_view text);  // "600k", "1.5M", "64000": SI, per second
Result<Rational> ParseFps(std::string_view text);       // "24", "23.976", "30000/1001"
Result<Rational> ParseSeconds(std::string_view text);   // "90", "1:30", "1:30.5"

// "29.97" for 30000/1001: at most three places, no trailing zeros. For people, not for parsing.
std::string DecimalText(Rational value);

}  // namespace gopmill
