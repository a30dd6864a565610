// SPDX-License-Identifier: Apache-2.0
//
// Draws a script of text: libass, by way of libavfilter, with the fonts of the machine
// (fontconfig). libass moves a cue out of the way of those it has placed already and leaves it
// there, so a burner that begins among cues first draws, unseen, the frames at which they and those
// around them appeared (at most 128).
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <memory>

#include "codec/subtitle_burner.h"

namespace gopmill {

// kUnsupported where FFmpeg was built without libass.
Result<std::unique_ptr<SubtitleBurner>> OpenScriptBurner(
    std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid, const AVFrame& picture);

}  // namespace gopmill
