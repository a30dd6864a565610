// SPDX-License-Identifier: Apache-2.0
#include "media/text_charset.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "base/words.h"
#include "media/language.h"

namespace gopmill {
namespace {

using Row = std::pair<std::string_view, const char*>;

// By ISO 639-1.
constexpr std::array kSets = std::to_array<Row>({
    {"ru", "WINDOWS-1251"}, {"uk", "WINDOWS-1251"}, {"be", "WINDOWS-1251"}, {"bg", "WINDOWS-1251"},
    {"mk", "WINDOWS-1251"}, {"sr", "WINDOWS-1250"}, {"pl", "WINDOWS-1250"}, {"cs", "WINDOWS-1250"},
    {"sk", "WINDOWS-1250"}, {"hu", "WINDOWS-1250"}, {"sl", "WINDOWS-1250"}, {"hr", "WINDOWS-1250"},
    {"bs", "WINDOWS-1250"}, {"ro", "WINDOWS-1250"}, {"sq", "WINDOWS-1250"}, {"el", "WINDOWS-1253"},
    {"tr", "WINDOWS-1254"}, {"az", "WINDOWS-1254"}, {"he", "WINDOWS-1255"}, {"ar", "WINDOWS-1256"},
    {"fa", "WINDOWS-1256"}, {"ur", "WINDOWS-1256"}, {"et", "WINDOWS-1257"}, {"lv", "WINDOWS-1257"},
    {"lt", "WINDOWS-1257"}, {"vi", "WINDOWS-1258"}, {"th", "CP874"},        {"ja", "CP932"},
    {"ko", "CP949"},        {"zh", "GB18030"},
});

bool IsUtf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

// Most of what is not ASCII are characters of UTF-8: a byte that is none is damage then.
bool IsMostlyUtf8(std::string_view text) {
  std::int64_t good = 0, bad = 0;
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    good += length > 1 ? 1 : 0;
    bad += length == 0 ? 1 : 0;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return bad <= good;
}

const char* LikelyCharset(std::string_view language) {
  const std::string tag = LanguageTag(LowerAscii(language));
  const std::string_view first = std::string_view(tag).substr(0, tag.find('-'));
  const auto* row = std::ranges::find(kSets, first, &Row::first);
  return row == kSets.end() ? "WINDOWS-1252" : row->second;
}

}  // namespace

const char* CharsetOf(std::string_view text, std::string_view language) {
  return IsUtf16(text) || IsMostlyUtf8(text) ? nullptr : LikelyCharset(language);
}

}  // namespace gopmill
