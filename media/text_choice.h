// SPDX-License-Identifier: Apache-2.0
//
// Which tracks of text of a publisher are those that a reader has had so far.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "media/subtitle_track.h"

namespace gopmill {

// Of each track of `now` its number in `wanted`: by language and title, then by language, since
// publishers list their tracks in any order. Nothing = it is left out: text in a wrong language is
// worse than none.
std::vector<std::optional<std::size_t>> FollowTexts(const std::vector<SubtitleTrack>& wanted,
                                                    const std::vector<SubtitleTrack>& now);

}  // namespace gopmill
