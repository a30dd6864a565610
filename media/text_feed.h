// SPDX-License-Identifier: Apache-2.0
//
// The cues of a text track as packets for a container, one after the other: cut to the part of the
// source that is shown, times in milliseconds from its start, each later than the one before.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>

#include "media/muxer.h"
#include "media/subtitle_track.h"

namespace gopmill {

inline constexpr Rational kTextTimeBase{1, 1000};

class TextFeed {
 public:
  // `track` is borrowed.
  TextFeed(const SubtitleTrack& track, SourceClip clip) : track_(track), clip_(clip) {}

  [[nodiscard]] MuxTrack Describe() const;
  // Null behind the last one.
  av::Packet Next();

 private:
  const SubtitleTrack& track_;
  const SourceClip clip_;
  std::size_t next_ = 0;
  std::int64_t last_ms_ = -1;
};

}  // namespace gopmill
