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

// What stands between blanks: views into `text`; none is empty.
inline std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
}

}  // namespace gopmill
