// SPDX-License-Identifier: Apache-2.0
//
// In which character set a text is that does not say so: subtitles from before UTF-8. And text that
// says to be UTF-16.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// Text that begins with the mark of UTF-16 as UTF-8, any other as it is. What is no character, and
// U+0000, is U+FFFD then. FFmpeg's own conversion (5.1) loses characters whose halves look like a
// line's end.
std::string Utf8Of(std::string text);

// The name (for iconv) of the set that a text is likely in, if it is not UTF-8 but for some damage;
// else null. That is the set of Windows for its language, as a
// file's name has it ("ru", "rus", "pt-BR"); of others and of none that of Western Europe.
const char* CharsetOf(std::string_view text, std::string_view language);

}  // namespace gopmill
