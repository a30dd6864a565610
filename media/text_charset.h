// SPDX-License-Identifier: Apache-2.0
//
// In which character set a text is that does not say so: subtitles from before UTF-8.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string_view>

namespace gopmill {

// The name (for iconv) of the set that a text is likely in, if it is neither UTF-8, but for some
// damage, nor begins like UTF-16; else null. That is the set of Windows for its language, as a
// file's name has it ("ru", "rus", "pt-BR"); of others and of none that of Western Europe.
const char* CharsetOf(std::string_view text, std::string_view language);

}  // namespace gopmill
