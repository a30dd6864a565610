// SPDX-License-Identifier: Apache-2.0
//
// Words in settings, names and protocols.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gopmill {

// ASCII letters in lower case; other bytes as they are, whatever the locale.
inline std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Whether it is ASCII letters, digits, '-', '_' and '.', one at least.
inline bool IsPlainName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Without what it begins and ends with of `blanks`.
inline std::string_view Trim(std::string_view text, std::string_view blanks = " \t") {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// What stands between separators, empty parts too: views into `text`; those behind `most` are left
// out.
inline std::vector<std::string_view> Split(std::string_view text, char separator,
                                           std::size_t most = std::string_view::npos) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size() || parts.size() >= most) return parts;
    text.remove_prefix(end + 1);
  }
}

// What stands between blanks, tabs and line breaks: views into `text`; none is empty.
inline std::vector<std::string_view> Words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(kBlanks)));
    text.remove_prefix(words.back().size());
  }
}

}  // namespace gopmill
