// SPDX-License-Identifier: Apache-2.0
#include "media/script_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/words.h"

namespace gopmill {
namespace {

constexpr double kDefaultHeight = 288;  // of libass, where a script states none
constexpr double kLeastHeight = 100;
constexpr double kMostPercent = 300;

struct Tag {
  std::string_view name;
  bool percent = false;
};
// A longer name before one that it begins with.
constexpr std::array kSizes{Tag{"bord"},       Tag{"xbord"},      Tag{"ybord"}, Tag{"shad"},
                            Tag{"xshad"},      Tag{"yshad"},      Tag{"blur"},  Tag{"be"},
                            Tag{"fscx", true}, Tag{"fscy", true}, Tag{"fsp"},   Tag{"fs"}};

bool OfNumber(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E';
}

// The number at the start of `text` if it is beyond `limit` either way: what takes its place.
std::optional<double> Beyond(const std::string& text, double limit) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (std::isfinite(value) && std::abs(value) <= limit) return std::nullopt;
  return value < 0 ? -limit : limit;
}

// The value of "PlayResY: 720"; nothing for another line.
std::optional<double> StatedSize(std::string_view line) {
  const std::string lower = LowerAscii(line);
  if (!lower.starts_with("playresx:") && !lower.starts_with("playresy:")) return std::nullopt;
  return std::strtod(lower.c_str() + std::string_view("playresx:").size(), nullptr);
}

}  // namespace

double LargestSize(std::string_view header) {
  double height = kDefaultHeight;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find('\n'), header.size());
    const std::string_view line = header.substr(0, end);
    const auto stated = StatedSize(line);
    if (stated && *stated >= kLeastHeight && LowerAscii(line.substr(0, 8)) == "playresy") {
      height = *stated;
    }
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return height;
}

std::string TameHeaderLine(std::string_view line, double largest) {
  if (const auto stated = StatedSize(line)) {
    const bool usable = std::isfinite(*stated) && *stated >= kLeastHeight;
    return usable ? std::string(line) : std::string();
  }
  if (!LowerAscii(line.substr(0, 6)).starts_with("style:")) return std::string(line);
  std::string tamed;
  while (true) {
    const std::size_t end = std::min(line.find(','), line.size());
    const std::string field(line.substr(0, end));
    const bool number = !field.empty() &&
                        std::ranges::all_of(field, [](char c) { return OfNumber(c) || c == ' '; });
    const auto instead = number ? Beyond(field, std::max(largest, kMostPercent)) : std::nullopt;
    tamed += instead ? fmt::format("{:.0f}", *instead) : field;
    if (end == line.size()) return tamed;
    tamed += ',';
    line.remove_prefix(end + 1);
  }
}

std::string TameEvent(std::string_view event, double largest) {
  std::string tamed;
  while (!event.empty()) {
    const std::size_t slash = event.find('\\');
    if (slash == std::string_view::npos) break;
    std::size_t at = std::min(event.find_first_not_of(' ', slash + 1), event.size());
    const auto* tag = std::ranges::find_if(
        kSizes, [&](const Tag& known) { return event.substr(at).starts_with(known.name); });
    if (tag != kSizes.end()) at += tag->name.size();
    if (tag != kSizes.end()) at = std::min(event.find_first_not_of(" (", at), event.size());
    tamed.append(event.substr(0, at));
    event.remove_prefix(at);
    if (tag == kSizes.end()) continue;
    const auto* end = std::ranges::find_if_not(event, OfNumber);
    const std::string number(event.begin(), end);
    const auto instead = Beyond(number, tag->percent ? kMostPercent : largest);
    tamed += instead ? fmt::format("{:.0f}", *instead) : number;
    event.remove_prefix(number.size());
  }
  return tamed.append(event);
}

}  // namespace gopmill
