// SPDX-License-Identifier: Apache-2.0
//
// In which character set a text is that does not say so: subtitles from before UTF-8.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string_view>

namespace gopmill {

// The name (for iconv) of the set that files of subtitles in this language mostly are in: that of
// Windows. `language` as a file's name has it, "ru", "rus", "pt-BR"; of others and of none it is
// that of Western Europe.
const char* LikelyCharset(std::string_view language);

// LikelyCharset() of a text that is neither UTF-8 nor begins like UTF-16; else null.
const char* CharsetOf(std::string_view text, std::string_view language);

}  // namespace gopmill
