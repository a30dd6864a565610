// SPDX-License-Identifier: Apache-2.0
//
// Decoding times for packets that come with presentation times only, as those of RTP do: the n-th
// packet in decoding order gets the n-th smallest presentation time, moved forward by the pictures
// that the decoder holds back. No packet waits for another. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace gopmill {

class DecodeTimes {
 public:
  // `delay`: pictures that the decoder holds back; `frame`: length of a picture. Any unit of time.
  DecodeTimes(int delay, std::int64_t frame) : delay_(delay), frame_(frame) {}

  // The decoding time of the next packet: never behind `pts`, and growing as long as the
  // presentation times do not jump back.
  std::int64_t Next(std::int64_t pts);

 private:
  int delay_;
  const std::int64_t frame_;
  std::multiset<std::int64_t> waiting_;  // times not given out yet, `delay_` of them
  std::optional<std::int64_t> last_;     // given out
};

}  // namespace gopmill
