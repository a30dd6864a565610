// SPDX-License-Identifier: Apache-2.0
//
// Settings that are lists: words with blanks between them.
//
// Thread-safety: safe (pure function).
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace gopmill {

// Views into `text`; none is empty.
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
