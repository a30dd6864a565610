// SPDX-License-Identifier: Apache-2.0
//
// Drawings in styled subtitles (ASS): commands of a pen ("m 0 0 l 100 0") behind {\p1} and before
// {\p0}. libass draws them; whoever takes the text alone would show the commands.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// An event, or its text, without them.
std::string WithoutDrawings(std::string_view event);

}  // namespace gopmill
