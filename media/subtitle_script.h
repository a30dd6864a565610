// SPDX-License-Identifier: Apache-2.0
//
// A track of subtitles in the form in which it can be drawn into the pictures. Of text that is a
// script of Advanced SubStation Alpha, with the styles of its source as far as they are known to be
// harmless (script_head.h, script_tags.h); its times are those of the source, rounded to the
// hundredths of a second that a script has. Of a track of pictures it is they that are drawn.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "media/subtitle_bitmaps.h"
#include "media/subtitle_track.h"

namespace gopmill {

// Cues that are shown at one time, and what they may take to paint (TamedEvent::ink); those that
// begin later are left out.
inline constexpr std::size_t kMaxShownCues = 32;
inline constexpr double kMaxShownInk = 32;

struct SubtitleScript {
  struct Span {
    std::int64_t start_ms = 0, end_ms = 0;  // [start, end), milliseconds since the source's zero
  };

  std::string text;         // UTF-8
  std::string fingerprint;  // of `text`, or of `bitmaps` and their times: SHA-256
  // Instead of text: as many cues as in `cues`. May be null.
  std::shared_ptr<const SubtitleBitmaps> bitmaps;
  std::vector<Span> cues;  // by their start
  // Those of the movie's pictures, without which its times are.
  ClosedJumps jumps = {};
  std::vector<Span> shown;  // when there is something to see; ascending and apart

  // The span that this time lies in; null if there is nothing to see.
  [[nodiscard]] const Span* SpanAt(std::int64_t us) const;
  // Cues that are seen at this time, numbers in `cues`; at most kMaxShownCues.
  [[nodiscard]] std::vector<std::size_t> CuesAt(std::int64_t ms) const;
  [[nodiscard]] std::size_t bytes() const;
};

// Of a track whose cues are lines of a script, or of one of pictures, with jumps closed already.
std::shared_ptr<const SubtitleScript> MakeScript(const SubtitleTrack& track,
                                                 const ClosedJumps& jumps = {});

}  // namespace gopmill
