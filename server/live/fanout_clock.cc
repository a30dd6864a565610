// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_clock.h"

#include <algorithm>

#include "base/status.h"

namespace gopmill {

FanoutClock::FanoutClock(std::span<const MuxTrack> tracks) {
  for (const MuxTrack& track : tracks) tracks_.push_back({.time_base = track.time_base});
}

// The pictures go on where those before ended, and the sound with them.
void FanoutClock::GoOnAt(std::int64_t pts) {
  const Track& pictures = tracks_.front();
  const std::int64_t end = pictures.end;
  for (Track& track : tracks_) {
    const std::int64_t goes_on = Rescale(end, pictures.time_base, track.time_base);
    track.offset = Rescale(pts, pictures.time_base, track.time_base) - goes_on;
    track.floor = std::max(track.end, goes_on);
  }
}

bool FanoutClock::Place(std::size_t track, bool after_gap, AVPacket& packet) {
  GOPMILL_CHECK(track < tracks_.size());
  if (after_gap && track == 0) GoOnAt(packet.pts);
  Track& placed = tracks_[track];
  packet.pts -= placed.offset;
  packet.dts -= placed.offset;
  if (track != 0 && packet.pts < placed.floor) return false;
  placed.end = std::max(placed.end, packet.pts + packet.duration);
  return true;
}

}  // namespace gopmill
