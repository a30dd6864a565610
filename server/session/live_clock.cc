// SPDX-License-Identifier: Apache-2.0
#include "server/session/live_clock.h"

#include <algorithm>

namespace gopmill {

void LiveClock::OnPicture(std::int64_t clock_ns, WallTime wall, bool after_gap) {
  const WallTime zero = Stretch{}.WallOf(-clock_ns) + wall.time_since_epoch();
  const MutexLock lock(mutex_);
  if (stretches_.empty() || after_gap) {
    const std::int64_t number = stretches_.empty() ? 0 : stretches_.back().stretch.number + 1;
    stretches_.push_back({.stretch = {.number = number, .start_ns = clock_ns, .zero = zero}});
    if (stretches_.size() > kKeptStretches) stretches_.pop_front();
    return;
  }
  Entry& newest = stretches_.back();
  if (!newest.fixed) newest.stretch.zero = std::min(newest.stretch.zero, zero);
}

LiveClock::Stretch LiveClock::At(std::int64_t clock_ns, std::int64_t slack_ns) {
  const MutexLock lock(mutex_);
  if (stretches_.empty()) return {};
  auto entry = stretches_.begin();
  for (auto next = entry; next != stretches_.end(); ++next) {
    if (next->stretch.start_ns <= clock_ns + slack_ns) entry = next;
  }
  entry->fixed = true;
  return entry->stretch;
}

}  // namespace gopmill
