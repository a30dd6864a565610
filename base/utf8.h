// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 (RFC 3629) in text from outside: JSON, playlists and paths must not have anything else.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gopmill {

// Length of the character at the start of `text`, which is not empty; 0 where that is not
// well-formed.
std::size_t CharacterLength(std::string_view text);

// Whether a byte is U+0000 to U+001F or U+007F by itself: what ends lines of protocols. The
// controls of two bytes, which IsControl knows besides, are not in the way of those.
constexpr bool IsControlByte(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Whether a well-formed character is U+0000 to U+001F or U+007F to U+009F: it ends lines, or tells
// a terminal something.
bool IsControl(std::string_view character);

// Whether there is such a character in `text`, whatever is not well-formed beside it.
bool HasControl(std::string_view text);

// Well-formed: no overlong forms, no surrogates, at most U+10FFFF.
bool IsUtf8(std::string_view text);

// What of `text` is well-formed; whole characters, at most `max_bytes`.
std::string WellFormed(std::string_view text, std::size_t max_bytes);

}  // namespace gopmill
