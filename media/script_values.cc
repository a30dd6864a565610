// SPDX-License-Identifier: Apache-2.0
#include "media/script_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gopmill {

std::optional<double> ScriptNumber(std::string_view text, double least, double most) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || !std::isfinite(value)) return std::nullopt;
  return std::clamp(value, least, most);
}

std::string ScriptDigits(double number) {
  std::string text = fmt::format("{:.3f}", number);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string ScriptColour(std::string_view text) {
  constexpr std::size_t kMostBytes = 12;
  constexpr std::string_view kBytes = "&-xhH0123456789abcdefABCDEF";
  std::string colour(text.substr(0, kMostBytes));
  std::erase_if(colour, [&](char c) { return kBytes.find(c) == std::string_view::npos; });
  return colour;
}

}  // namespace gopmill
