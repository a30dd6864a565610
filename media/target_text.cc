// SPDX-License-Identifier: Apache-2.0
//
// Everything is parsed by hand into exact fractions: the C library's parsers accept signs,
// exponents, "nan", "inf", leading blanks and the decimal comma of a locale, none of which is
// wanted here.
#include "media/target_text.h"

#include <array>
#include <cstddef>

#include "base/digits.h"

namespace gopmill {
namespace {

constexpr std::size_t kMaxWholeDigits = 12;
constexpr std::size_t kMaxFractionDigits = 6;  // further ones are read and dropped
constexpr std::size_t kMaxTextLength = 64;

// The rates of 1000/1001 that broadcast video has; people write them rounded ("23.98", "29.97").
constexpr std::array<std::int64_t, 7> kNtscRates = {12, 24, 30, 48, 60, 120, 240};

// The exact fraction behind a decimal that is an NTSC rate rounded to `digits` >= 2 places.
std::optional<Rational> NtscRate(Rational decimal, std::size_t digits) {
  if (digits < 2) return std::nullopt;
  std::int64_t scale = 1;
  for (std::size_t i = 0; i < digits && i < kMaxFractionDigits; ++i) scale *= 10;
  for (const std::int64_t rate : kNtscRates) {
    const std::int64_t rounded = Rescale(1, {rate * 1000, 1001}, {1, scale});
    const Rational exact{rate * 1000, 1001};
    if (decimal == Rational{rounded, scale}) return exact;
    // Longer decimals are cut at the last digit instead of rounded by some tools.
    const std::int64_t cut = Rescale(1, exact, {1, scale}, Round::kDown);
    if (digits >= 3 && decimal == Rational{cut, scale}) return exact;
  }
  return std::nullopt;
}

Error Malformed(std::string_view what, std::string_view text, std::string_view accepted) {
  return InvalidArgument("", Quoted(text) + " is not " + std::string(what) + ".",
                         std::string(accepted));
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += (c >= ' ' && c <= '~') ? c : '?';
  if (text.size() > kShown) shown += "...";
  return shown + "'";
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  return ParseDigits(text, kMaxWholeDigits);
}

std::optional<Rational> ParseDecimal(std::string_view text) {
  if (text.size() > kMaxTextLength) return std::nullopt;
  const std::size_t point = text.find('.');
  const auto whole = ParseDigits(text.substr(0, point), kMaxWholeDigits);
  if (!whole) return std::nullopt;
  if (point == std::string_view::npos) return Rational{*whole, 1};
  const std::string_view digits = text.substr(point + 1);
  if (!ParseDigits(digits.substr(0, kMaxFractionDigits), kMaxFractionDigits)) return std::nullopt;
  Rational value{*whole, 1};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (!IsDigit(digits[i])) return std::nullopt;
    if (i < kMaxFractionDigits) value = {value.num * 10 + (digits[i] - '0'), value.den * 10};
  }
  return value.Reduced();
}

Result<std::int64_t> ParseBits(std::string_view text) {
  constexpr std::string_view kForm = "a number with an optional k, M or G, like 600k or 1.5M";
  std::int64_t scale = 1;
  std::string_view number = text;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K': scale = 1'000; break;
      case 'M': scale = 1'000'000; break;
      case 'G': scale = 1'000'000'000; break;
      default: break;
    }
    if (scale != 1) number.remove_suffix(1);
  }
  const auto value = ParseDecimal(number);
  // Nine whole digits and the largest scale stay within 64 bits.
  if (!value || (scale != 1 && value->ToDouble() > 1e9)) {
    return Malformed("a number of bits", text, kForm);
  }
  return Rescale(scale, *value, {1, 1});
}

Result<Rational> ParseFps(std::string_view text) {
  constexpr std::string_view kForm = "a number or a fraction, like 24, 23.976 or 30000/1001";
  constexpr std::size_t kMaxTermDigits = 9;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto num = ParseDigits(text.substr(0, slash), kMaxTermDigits);
    const auto den = ParseDigits(text.substr(slash + 1), kMaxTermDigits);
    if (!num || !den || *den == 0) return Malformed("a frame rate", text, kForm);
    return Rational{*num, *den}.Reduced();
  }
  const auto value = ParseDecimal(text);
  if (!value) return Malformed("a frame rate", text, kForm);
  const std::size_t point = text.find('.');
  const std::size_t digits = point == std::string_view::npos ? 0 : text.size() - point - 1;
  return NtscRate(*value, digits).value_or(*value);
}

Result<Rational> ParseSeconds(std::string_view text) {
  constexpr std::string_view kForm = "seconds or [hours:]minutes:seconds, like 90, 1:30 or 1:30.5";
  const Error malformed = Malformed("a time", text, kForm);
  std::int64_t leading = 0;  // whole minutes of the parts before the last colon
  std::string_view rest = text;
  int colons = 0;
  for (std::size_t colon = rest.find(':'); colon != std::string_view::npos;
       colon = rest.find(':')) {
    const auto part = ParseDigits(rest.substr(0, colon), 6);
    if (!part || ++colons > 2 || (colons == 2 && *part >= 60)) return malformed;
    leading = leading * 60 + *part;
    rest.remove_prefix(colon + 1);
  }
  const auto seconds = ParseDecimal(rest);
  if (!seconds || (colons > 0 && *seconds >= Rational{60, 1})) return malformed;
  return Rational{leading * 60 * seconds->den + seconds->num, seconds->den}.Reduced();
}

std::string DecimalText(Rational value) {
  const std::int64_t thousandths = Rescale(1, value, {1, 1000});
  std::string text = std::to_string(thousandths / 1000);
  std::string places = std::to_string(1000 + thousandths % 1000).substr(1);
  while (!places.empty() && places.back() == '0') places.pop_back();
  return places.empty() ? text : text + "." + places;
}

}  // namespace gopmill
