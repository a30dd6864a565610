// SPDX-License-Identifier: Apache-2.0
//
// When the packets of a live source came, but for what the network and the machine made them wait:
// by the promptest picture in relation to its time so far. That may be given up by a hundred
// microseconds a second, which is more than clocks differ. Only pictures count; sound, which may
// lie ahead, goes by them. Pure.
//
// The wall clock may be set meanwhile (a machine that learns the time after its start, one that was
// suspended): where it leaves the steady clock behind, or is left, by kWallStep at once, dates go
// on by what it says then.
//
// Thread-safety: thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace gopmill {

// The clocks are read one after the other: more than a thread waits for its turn in between.
inline constexpr std::chrono::seconds kWallStep{1};

class PacketDating {
 public:
  // What both clocks say, now: before the Date of each packet.
  void SeeClocks(WallTime wall, TimePoint steady);
  // The date of a packet that came at `wall`; `dts_ns` on the publisher's clock, repaired.
  WallTime Date(bool video, std::int64_t dts_ns, WallTime wall);
  // Of the publisher's clock against the wall's: positive where it runs slow.
  [[nodiscard]] std::chrono::milliseconds drift() const;

 private:
  WallTime zero_, begin_, first_zero_;
  std::optional<WallTime> last_;        // of the newest picture
  std::optional<Duration> wall_ahead_;  // of the steady clock, when both were seen last
};

}  // namespace gopmill
