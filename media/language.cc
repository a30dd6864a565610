// SPDX-License-Identifier: Apache-2.0
#include "media/language.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gopmill {
namespace {

// ISO 639-2, as containers have it, to ISO 639-1, as RFC 5646 wants it. Others stay as they are.
constexpr std::array kLanguages = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"sqi", "sq"}, {"alb", "sq"}, {"ara", "ar"}, {"aze", "az"}, {"bel", "be"}, {"bos", "bs"},
     {"bul", "bg"}, {"ces", "cs"}, {"cze", "cs"}, {"chi", "zh"}, {"zho", "zh"}, {"dan", "da"},
     {"deu", "de"}, {"ger", "de"}, {"dut", "nl"}, {"nld", "nl"}, {"ell", "el"}, {"gre", "el"},
     {"eng", "en"}, {"est", "et"}, {"fas", "fa"}, {"per", "fa"}, {"fin", "fi"}, {"fra", "fr"},
     {"fre", "fr"}, {"heb", "he"}, {"hin", "hi"}, {"hrv", "hr"}, {"hun", "hu"}, {"ita", "it"},
     {"jpn", "ja"}, {"kor", "ko"}, {"lav", "lv"}, {"lit", "lt"}, {"mkd", "mk"}, {"mac", "mk"},
     {"nor", "no"}, {"pol", "pl"}, {"por", "pt"}, {"ron", "ro"}, {"rum", "ro"}, {"rus", "ru"},
     {"slk", "sk"}, {"slo", "sk"}, {"slv", "sl"}, {"spa", "es"}, {"srp", "sr"}, {"swe", "sv"},
     {"tha", "th"}, {"tur", "tr"}, {"ukr", "uk"}, {"urd", "ur"}, {"vie", "vi"}});

}  // namespace

std::string LanguageTag(const std::string& language) {
  const auto* known =
      std::ranges::find(kLanguages, language, &decltype(kLanguages)::value_type::first);
  if (known != kLanguages.end()) return std::string(known->second);
  const bool good = language.size() <= 35 && std::ranges::all_of(language, [](unsigned char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-';
                    });
  return good ? language : "";
}

std::string ContainerLanguage(const std::string& language) {
  const std::string first = language.substr(0, language.find('-'));
  const auto* known =
      std::ranges::find(kLanguages, first, &decltype(kLanguages)::value_type::second);
  return known == kLanguages.end() ? first : std::string(known->first);
}

}  // namespace gopmill
