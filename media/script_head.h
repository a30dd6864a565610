// SPDX-License-Identifier: Apache-2.0
//
// The head of a script that is drawn (media/subtitle_script.h), written anew from what is known of
// the source's: its coordinates and its styles, each number within what a picture can show. libass
// believes what it reads, and takes gigabytes and seconds for a picture with letters of a hundred
// times its height. Fonts that come with a script are left out.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

inline constexpr std::size_t kMaxStyles = 1000;  // those behind are left out

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20U;  // and so of a header

struct ScriptHead {
  std::string text;     // all in front of the section of events
  double height = 288;  // of the picture, in the script's units: no size is larger
  // The largest of all styles: letters with their scale, and what surrounds them.
  double letter = 18, border = 1;
};

ScriptHead WriteScriptHead(std::string_view header);

}  // namespace gopmill
