// SPDX-License-Identifier: Apache-2.0
//
// Puts the coded packets of a stream's units back in order. Pure.
//
// Guarantees:
//   - cut-through: packets of the head-of-line unit come out as they are made, only later units
//     wait;
//   - exactly once: each packet carries its place within its unit; what comes again (of a retry) is
//     dropped, a place that is skipped is an error;
//   - a unit is complete when it has brought exactly the planned number of packets; with fewer it
//     is an error.
//
// The window is bounded by whoever submits units (server/stream): bytes() tells what waits here.
//
// Thread-safety: thread-compatible; owned by the stream's egress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

class Reorderer {
 public:
  struct Released {
    UnitIndex unit;
    bool last_of_unit = false;
    av::Packet packet;  // null: the unit brought none
  };

  // Packet number `place` (0, 1, 2...) of a unit. Appends what may leave now.
  Status OnPacket(UnitIndex unit, std::int64_t place, av::Packet packet,
                  std::vector<Released>& out);
  // The unit has ended with `packets` packets in all, >= 0. Appends what may leave now.
  Status OnUnitEnd(UnitIndex unit, std::int64_t packets, std::vector<Released>& out);

  [[nodiscard]] UnitIndex head() const { return head_; }  // the unit that leaves next
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Waiting {
    std::int64_t received = 0;
    std::int64_t planned = -1;        // -1 until the unit has ended
    std::vector<av::Packet> packets;  // not yet released
  };
  void Release(std::vector<Released>& out);

  UnitIndex head_{0};
  std::map<UnitIndex, Waiting> units_;
  std::size_t bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace gopmill
