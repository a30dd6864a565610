// SPDX-License-Identifier: Apache-2.0
//
// Words of a peer in logs and answers.
//
// Thread-safety: safe (pure function).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace gopmill {

// At most so many bytes, with '?' for all but printable ASCII.
inline std::string PeerText(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace gopmill
