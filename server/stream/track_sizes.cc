// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_sizes.h"

#include <algorithm>
#include <cmath>

namespace gopmill {
namespace {

std::int64_t Rate(double bits, double seconds) {
  return seconds > 0 ? std::llround(std::ceil(bits / seconds)) : 0;
}

}  // namespace

void TrackSizes::Add(std::int64_t number, std::size_t bytes, double seconds) {
  const auto at = static_cast<std::size_t>(number);
  if (segments_.size() <= at) segments_.resize(at + 1);
  segments_[at] = {.bits = 8.0 * static_cast<double>(bytes), .seconds = seconds};
}

TrackSizes::Segment TrackSizes::Sum() const {
  Segment sum;
  for (const Segment& segment : segments_) {
    sum.bits += segment.bits;
    sum.seconds += segment.seconds;
  }
  return sum;
}

std::int64_t TrackSizes::bytes() const { return std::llround(Sum().bits / 8); }

std::int64_t TrackSizes::average_bps() const {
  const Segment sum = Sum();
  return Rate(sum.bits, sum.seconds);
}

std::int64_t TrackSizes::peak_bps() const {
  double target = 0;
  for (const Segment& segment : segments_) target = std::max(target, segment.seconds);
  target = std::max(1.0, std::round(target));  // as the playlist states it
  std::int64_t peak = 0;
  for (std::size_t first = 0; first < segments_.size(); ++first) {
    Segment row;
    for (std::size_t k = first; k < segments_.size(); ++k) {
      row.bits += segments_[k].bits;
      row.seconds += segments_[k].seconds;
      if (row.seconds > 1.5 * target) break;
      if (row.seconds >= 0.5 * target) peak = std::max(peak, Rate(row.bits, row.seconds));
    }
  }
  return peak > 0 ? peak : average_bps();
}

}  // namespace gopmill
