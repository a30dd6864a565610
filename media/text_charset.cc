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

void AddCharacter(char32_t code, std::string& utf8) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes
  constexpr std::array<char32_t, 4> kLeads{0, 0xC0, 0xE0, 0xF0};
  utf8 += static_cast<char>(kLeads.at(static_cast<std::size_t>(more)) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) {
    utf8 += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  }
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

std::string Utf8Of(std::string text) {
  if (!IsUtf16(text)) return text;
  constexpr char32_t kReplacement = 0xFFFD;
  const std::size_t high = text.front() == '\xFE' ? 0 : 1, count = text.size() / 2;
  const auto unit = [&](std::size_t i) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
    return static_cast<char32_t>(byte(2 * i + high) << 8U | byte(2 * i + 1 - high));
  };
  std::string utf8;
  utf8.reserve(text.size());
  for (std::size_t i = 1; i < count; ++i) {
    char32_t code = unit(i);
    if ((code & 0xFC00U) == 0xD800 && i + 1 < count && (unit(i + 1) & 0xFC00U) == 0xDC00) {
      code = 0x10000 + ((code & 0x3FFU) << 10U) + (unit(++i) & 0x3FFU);
    } else if ((code & 0xF800U) == 0xD800 || code == 0) {
      code = kReplacement;
    }
    AddCharacter(code, utf8);
  }
  if (text.size() % 2 != 0) AddCharacter(kReplacement, utf8);
  return utf8;
}

const char* CharsetOf(std::string_view text, std::string_view language) {
  return IsMostlyUtf8(text) ? nullptr : LikelyCharset(language);
}

}  // namespace gopmill
