// SPDX-License-Identifier: Apache-2.0
//
// The subtitles of a segmented movie as WebVTT: in segments that are cut where those of the
// pictures are (HLS: RFC 8216 section 3.5), and whole (DASH). A cue that lies across a border is in
// both segments, as the RFC wants it. Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "media/subtitle_track.h"
#include "server/session/segmented_movie.h"

namespace gopmill {

// A time of WebVTT, "01:02:03.004".
std::string CueTime(std::int64_t us);

// What playlists say of the tracks: names that differ, languages in their shortest form.
std::vector<SubtitleRendition> ListSubtitles(const std::vector<SubtitleTrack>& tracks);

// `rendition` and `number` exist.
std::string SubtitleSegment(const SegmentedMovie& movie, std::size_t rendition,
                            std::int64_t number);
std::string WholeSubtitles(const SegmentedMovie& movie, std::size_t rendition);

}  // namespace gopmill
