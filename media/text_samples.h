// SPDX-License-Identifier: Apache-2.0
//
// Cues as an MP4 takes them (3GPP TS 26.245): samples of a text track follow one another, none
// overlaps the next. Where several cues are seen at once, one sample has the lines of all of them.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "media/subtitle_track.h"

namespace gopmill {

// Cues that are seen together; of more, the oldest go.
inline constexpr std::size_t kMaxJoinedCues = 8;

// One sample with the text of both, the second below the first, and their styles (its box 'styl');
// boxes of other kinds are left out. The first alone where both would be too long or one of them is
// no sample.
std::string JoinSamples(std::string_view first, std::string_view second);

// `cues`: by start, of CueForm::kMovText, with ends. A text that is seen already is not repeated.
std::vector<SubtitleCue> WithoutOverlap(const std::vector<SubtitleCue>& cues);

}  // namespace gopmill
