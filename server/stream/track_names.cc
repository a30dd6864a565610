// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace gopmill {

std::string UniqueNames::For(std::initializer_list<std::string> wishes) {
  const auto wish = std::ranges::find_if(wishes, [](const auto& text) { return !text.empty(); });
  std::string name = wish == wishes.end() ? "Track" : *wish;
  std::ranges::replace(name, '"', '\'');  // a playlist cannot have it
  std::string free = name;
  for (int n = 2; !taken_.insert(free).second; ++n) free = fmt::format("{} {}", name, n);
  return free;
}

std::string LanguageAttribute(const std::string& language) {
  return language.empty() ? "" : ",LANGUAGE=\"" + language + "\"";
}

std::string LangAttribute(const std::string& language) {
  return language.empty() ? "" : " lang=\"" + language + "\"";
}

}  // namespace gopmill
