// SPDX-License-Identifier: Apache-2.0
#include "server/stream/packet_dating.h"

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

// Until the promptest picture has been seen.
constexpr std::chrono::seconds kFirstDates{5};

}  // namespace

void PacketDating::SeeClocks(WallTime wall, TimePoint steady) {
  const Duration ahead = wall.time_since_epoch() - steady.time_since_epoch();
  const Duration step = ahead - std::exchange(wall_ahead_, ahead).value_or(ahead);
  if (std::chrono::abs(step) < kWallStep || !last_) return;
  for (WallTime* date : {&zero_, &begin_, &first_zero_, &*last_}) {
    *date += std::chrono::duration_cast<WallTime::duration>(step);
  }
}

WallTime PacketDating::Date(bool video, std::int64_t dts_ns, WallTime wall) {
  const auto since =
      std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(dts_ns));
  if (!video) return last_ ? zero_ + since : wall;
  const WallTime zero = wall - since;
  if (last_) zero_ = std::min(zero, zero_ + std::max(wall - *last_, {}) / 10'000);
  if (!last_) {
    zero_ = zero;
    begin_ = wall;
  }
  last_ = wall;
  if (wall - begin_ < kFirstDates) first_zero_ = zero_;
  return wall - (zero - zero_);
}

std::chrono::milliseconds PacketDating::drift() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(zero_ - first_zero_);
}

}  // namespace gopmill
