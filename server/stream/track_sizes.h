// SPDX-License-Identifier: Apache-2.0
//
// What the segments of a track take, for playlists that are written when all are made.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

namespace gopmill {

class TrackSizes {
 public:
  // Segment `number` has so many bytes and seconds; in any order, each once.
  void Add(std::int64_t number, std::size_t bytes, double seconds);

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] std::int64_t bytes() const;
  // Mean rate, bits per second, rounded up.
  [[nodiscard]] std::int64_t average_bps() const;
  // The highest rate of any row of segments that lasts 0.5 to 1.5 target durations, rounded up
  // (RFC 8216 section 4.1); of all where none does.
  [[nodiscard]] std::int64_t peak_bps() const;

 private:
  struct Segment {
    double bits = 0, seconds = 0;
  };
  [[nodiscard]] Segment Sum() const;
  std::vector<Segment> segments_;  // by number
};

}  // namespace gopmill
