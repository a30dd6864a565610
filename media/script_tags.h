// SPDX-License-Identifier: Apache-2.0
//
// The text of an event with those override tags that can be drawn in bounded time and memory, each
// number within what a picture can show; see script_head.h for why. Kept are fonts, sizes, colours,
// outlines, blur, turning in the plane, places and movement, fading, rectangular clips, karaoke and
// animations of these. Left out are turning in space, shearing and clips by drawings.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

#include "media/script_head.h"

namespace gopmill {

inline constexpr std::size_t kMaxEventBytes = 4096;

struct TamedEvent {
  std::string text;  // empty if the event is a drawing, or longer than kMaxEventBytes
  // What libass may have to paint for it at most: its characters by the largest size in it or in
  // the styles that it names, with what surrounds them. In areas of a square of the picture's
  // height.
  double ink = 0;
};
// `style`: the event's.
TamedEvent TameEvent(std::string_view text, const ScriptHead& head, std::string_view style = {});

}  // namespace gopmill
