// SPDX-License-Identifier: Apache-2.0
//
// Keeps a script from asking for more than a picture can show: libass takes an outline of a hundred
// times the picture's height for what it says, with seconds and gigabytes for each picture. Sizes
// are in the script's own units (PlayResY of them are the picture's height).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// The largest size of a script with this header: the picture's height.
double LargestSize(std::string_view header);

// A line of the header with sizes of styles up to `largest`; empty if it is to be left out, because
// it makes the units larger than a hundredth of the picture.
std::string TameHeaderLine(std::string_view line, double largest);

// An event whose override tags ask for sizes up to `largest` and glyphs up to three times as large.
std::string TameEvent(std::string_view event, double largest);

}  // namespace gopmill
