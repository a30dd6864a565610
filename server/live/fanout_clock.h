// SPDX-License-Identifier: Apache-2.0
//
// Where the packets of a shared encode lie on the clock of one of its readers: it begins with 0
// whenever the reader comes, and closes up over GOPs that the reader has lost.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "media/muxer.h"

namespace gopmill {

class FanoutClock {
 public:
  // Pictures are track 0.
  explicit FanoutClock(std::span<const MuxTrack> tracks);

  // Moves the times of the next packet. `after_gap`: the reader begins or goes on with this
  // picture, a key frame, not with what followed the packet before. False: sound from before such
  // a place, to be left out.
  bool Place(std::size_t track, bool after_gap, AVPacket& packet);

 private:
  struct Track {
    Rational time_base;
    std::int64_t offset = 0, end = 0;                               // ticks; end of what was placed
    std::int64_t floor = std::numeric_limits<std::int64_t>::min();  // no sound before it
  };
  void GoOnAt(std::int64_t pts);

  std::vector<Track> tracks_;
};

}  // namespace gopmill
