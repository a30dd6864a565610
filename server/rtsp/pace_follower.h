// SPDX-License-Identifier: Apache-2.0
//
// Keeps the players of a live source from falling behind a publisher whose clock is fast. RTP is
// paced by the pictures' times on this machine's clock (gst-rtsp-server), so pictures that come a
// little faster than they are shown would pile up: at 50 ppm by a second in five hours and a half.
// Once the promptest packets come kFollowed earlier than at the beginning, times are brought
// forward, by kStep of what passes, until they do not.
//
// A slow clock needs nothing: what is late is sent at once.
//
// Pure: told the time. Thread-safety: thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace gopmill {

class PaceFollower {
 public:
  static constexpr std::int64_t kWindow =
      10'000'000'000;  // ns, in which the promptest is looked for
  static constexpr std::int64_t kFollowed = 100'000'000;  // ns
  static constexpr std::int64_t kStep = 50;               // one part of so many: nobody hears that

  // A packet to be decoded at `dts_ns` of the stream's clock comes at `now_ns`, of any track, in
  // the order of these times or nearly. What to take off its times.
  std::int64_t Follow(std::int64_t dts_ns, std::int64_t now_ns) {
    const std::int64_t lead = dts_ns - now_ns;
    if (!begun_ns_) begun_ns_ = now_ns;
    promptest_ = promptest_ ? std::max(*promptest_, lead) : lead;
    if (now_ns - *begun_ns_ >= kWindow) EndWindow(now_ns);
    const std::int64_t passed = last_dts_ ? std::max<std::int64_t>(0, dts_ns - *last_dts_) : 0;
    last_dts_ = last_dts_ ? std::max(*last_dts_, dts_ns) : dts_ns;
    shift_ += std::min(wanted_ - shift_, passed / kStep);
    return shift_;
  }

 private:
  void EndWindow(std::int64_t now_ns) {
    if (!usual_) usual_ = *promptest_;
    const std::int64_t ahead = *promptest_ - *usual_;
    if (ahead - wanted_ > kFollowed) wanted_ = ahead;
    promptest_.reset();
    begun_ns_ = now_ns;
  }

  std::optional<std::int64_t> begun_ns_, promptest_;  // of this window
  std::optional<std::int64_t> usual_;                 // of the first one
  std::optional<std::int64_t> last_dts_;
  std::int64_t wanted_ = 0, shift_ = 0;
};

}  // namespace gopmill
