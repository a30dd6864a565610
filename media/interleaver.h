// SPDX-License-Identifier: Apache-2.0
//
// Merges the packets of several tracks into one sequence ordered by dts. Pure: the order depends
// only on the packets of each track, never on when they arrived.
//
// A packet comes out as soon as no other track can still bring an earlier one: each other track has
// a packet waiting, has ended, or has promised (Advance) to bring nothing before a given time. Ties
// go to the lower track number. A packet that comes although its track had promised otherwise takes
// its place at the promised time: late, but at the same place whenever it arrives.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/rational.h"
#include "media/av_ptr.h"
#include "media/held_bytes.h"

namespace gopmill {

class Interleaver {
 public:
  // One time base (seconds per tick) per track.
  explicit Interleaver(std::vector<Rational> time_bases);

  void Push(std::size_t track, av::Packet packet);
  void End(std::size_t track);
  // Promise: track brings no packet with a dts before `dts` (ticks of its own time base) any more.
  void Advance(std::size_t track, std::int64_t dts);
  // From now on packets come out as they are, each track in its own order.
  void StopMerging() { merging_ = false; }
  // The next packet of the merged sequence, if it is certain.
  std::optional<std::pair<std::size_t, av::Packet>> Pop();

  // What waits: HeldBytes, and the payload in them.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t payload() const { return bytes_ - waiting_ * kPacketOverhead; }
  [[nodiscard]] bool drained() const;  // all tracks ended, nothing waiting
  [[nodiscard]] bool drained(std::size_t track) const;

 private:
  struct Track {
    Rational time_base;
    struct Waiting {
      std::int64_t place;  // its dts, or what the track had promised if that is later
      av::Packet packet;
    };
    std::deque<Waiting> packets;
    std::optional<std::int64_t> promise;
    bool ended = false;
  };
  [[nodiscard]] bool MayComeBefore(const Track& track, std::size_t index, std::int64_t dts,
                                   Rational time_base, std::size_t than) const;
  std::vector<Track> tracks_;
  bool merging_ = true;
  std::size_t bytes_ = 0, waiting_ = 0;  // of packets that wait; their number
};

}  // namespace gopmill
