// SPDX-License-Identifier: Apache-2.0
//
// The head of a script that is drawn (media/subtitle_script.h), written anew from what is known of
// the source's: its coordinates and its styles, each number within what a picture can show. libass
// believes what it reads, and takes gigabytes and seconds for a picture with letters of a hundred
// times its height. Fonts that come with a script are left out.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace gopmill {

inline constexpr std::size_t kMaxStyles = 1000;  // those behind are left out

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20U;  // and so of a header

// Of letters, what these are multiplied by, and of what surrounds them.
struct ScriptSizes {
  double letter = 18, scale = 1, border = 1;

  void Enlarge(const ScriptSizes& other);
};

struct ScriptHead {
  std::string text;          // all in front of the section of events
  double height = 288;       // of the picture, in the script's units: no size is larger
  ScriptSizes largest = {};  // of all styles
  // Of those that libass may take for one another, the largest.
  std::map<std::string, ScriptSizes, std::less<>> styles = {};

  // Those of a style; of one that is not known the largest.
  [[nodiscard]] ScriptSizes SizesOf(std::string_view style) const;
};

ScriptHead WriteScriptHead(std::string_view header);

}  // namespace gopmill
