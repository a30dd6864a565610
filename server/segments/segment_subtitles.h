// SPDX-License-Identifier: Apache-2.0
//
// The subtitles of a segmented movie as WebVTT: in segments that are cut where those of the
// pictures are (HLS: RFC 8216 section 3.5), and whole (DASH). A cue that lies across a border is in
// both segments, as the RFC wants it. The pieces that they are made of serve live sources too.
// Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "media/subtitle_track.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

// What playlists say of the tracks: names that differ, languages in their shortest form.
std::vector<SubtitleRendition> ListSubtitles(const std::vector<SubtitleTrack>& tracks);

// What each segment begins with: where its zero lies in media segments of that container.
std::string TextHead(Container container);
// Those of `cues`, by start, that are seen between two times; these, and what is written, count
// from `zero_us` of the cues' clock.
std::string CuesBetween(std::span<const SubtitleCue> cues, std::int64_t zero_us,
                        std::int64_t begin_us, std::int64_t end_us);

// `rendition` and `number` exist.
std::string SubtitleSegment(const SegmentedMovie& movie, std::size_t rendition,
                            std::int64_t number);
std::string WholeSubtitles(const SegmentedMovie& movie, std::size_t rendition);

}  // namespace gopmill
