// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_delays.h"

#include <algorithm>

namespace gopmill {

void SegmentDelays::Add(std::int64_t number, Duration delay) {
  Duration& longest = delays_.try_emplace(number, delay).first->second;
  longest = std::max(longest, delay);
  if (delays_.size() > kDelaysKept) delays_.erase(delays_.begin());
}

Duration SegmentDelays::Usual() const {
  Duration longest{}, second{};
  for (const auto& [number, delay] : delays_) {
    second = std::max(second, std::min(longest, delay));
    longest = std::max(longest, delay);
  }
  return delays_.size() == 1 ? longest : second;
}

}  // namespace gopmill
