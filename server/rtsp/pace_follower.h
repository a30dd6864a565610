// SPDX-License-Identifier: Apache-2.0
//
// Keeps the players of a live source near it. RTP is paced by the pictures' times on the clock of
// the pipeline (gst-rtsp-server): what comes before it is due waits. A pipeline that took long to
// start would make all pictures wait for as long as it plays, and the pictures of a publisher whose
// clock is fast would pile up: at 50 ppm by a second in five hours and a half. So where hardly a
// packet of ten seconds has come less than kFollowed before it was due, times are brought forward,
// by kStep of what passes, until the last of them has kKept. "Hardly": the latest of each second,
// but for kIgnored seconds, since what is held back now and then would make everything wait.
//
// A slow clock needs nothing: what is late is sent at once.
//
// Pure: told the time. Thread-safety: thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace gopmill {

class PaceFollower {
 public:
  static constexpr std::int64_t kPart = 1'000'000'000;  // ns
  static constexpr std::size_t kParts = 10, kIgnored = 2;
  static constexpr std::int64_t kFollowed = 60'000'000;  // ns
  static constexpr std::int64_t kKept = 20'000'000;      // ns
  static constexpr std::int64_t kStep = 50;              // one part of so many: nobody hears that

  // A packet to be decoded at `dts_ns` of the stream's clock comes when that of the pipeline, which
  // sends it at that time, is at `now_ns`; of any track, in the order of these times or nearly.
  // What to take off its times.
  std::int64_t Follow(std::int64_t dts_ns, std::int64_t now_ns) {
    if (!begun_ns_) begun_ns_ = now_ns;
    least_ = std::min(least_, dts_ns - now_ns);
    if (now_ns - *begun_ns_ >= kPart) EndPart(now_ns);
    const std::int64_t passed = last_dts_ ? std::max<std::int64_t>(0, dts_ns - *last_dts_) : 0;
    last_dts_ = last_dts_ ? std::max(*last_dts_, dts_ns) : dts_ns;
    shift_ += std::min(wanted_ - shift_, passed / kStep);
    return shift_;
  }

 private:
  void EndPart(std::int64_t now_ns) {
    begun_ns_ = now_ns;
    parts_[part_++] = std::exchange(least_, kNever);
    if (part_ < kParts) return;
    part_ = 0;
    std::ranges::nth_element(parts_, parts_.begin() + kIgnored);
    if (parts_[kIgnored] - wanted_ > kFollowed) wanted_ = parts_[kIgnored] - kKept;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::optional<std::int64_t> begun_ns_;         // of this part
  std::int64_t least_ = kNever;                  // that a packet of it has come early
  std::array<std::int64_t, kParts> parts_ = {};  // the same of those before, of which there are
  std::size_t part_ = 0;                         // so many
  std::optional<std::int64_t> last_dts_;
  std::int64_t wanted_ = 0, shift_ = 0;
};

}  // namespace gopmill
