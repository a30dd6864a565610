// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_clock.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gopmill {

void LiveClock::OnPicture(std::int64_t clock_ns, std::int64_t decoded_ns, WallTime wall,
                          bool after_gap, std::int64_t publisher) {
  const WallTime zero = Stretch{}.WallOf(-clock_ns) + wall.time_since_epoch();
  const WallTime decoding_zero = Stretch{}.WallOf(-decoded_ns) + wall.time_since_epoch();
  const MutexLock lock(mutex_);
  if (stretches_.empty() || after_gap) {
    const std::int64_t number = stretches_.empty() ? 0 : stretches_.back().stretch.number + 1;
    return Begin(
        {.stretch = {.number = number, .publisher = publisher, .start_ns = clock_ns, .zero = zero},
         .decoding_zero = decoding_zero});
  }
  Entry& newest = stretches_.back();
  if (newest.fixed) return FollowDrift(clock_ns, decoding_zero);
  const bool was_set = decoding_zero - newest.decoding_zero > kEarlyDrift;
  newest.stretch.zero = was_set ? zero : std::min(newest.stretch.zero, zero);
  newest.decoding_zero = decoding_zero;
}

// By the times of decoding: those at which pictures are shown leap to and fro where there are B
// frames.
void LiveClock::FollowDrift(std::int64_t clock_ns, WallTime decoding_zero) {
  const Entry& newest = stretches_.back();
  const auto drift = decoding_zero - newest.decoding_zero;
  const std::chrono::nanoseconds length(clock_ns - newest.stretch.start_ns);
  if (length < kLeastStretch || (drift <= kLateDrift && drift >= -kEarlyDrift)) return;
  Begin({.stretch = {.number = newest.stretch.number + 1,
                     .publisher = newest.stretch.publisher,
                     .start_ns = clock_ns,
                     .zero = newest.stretch.zero + drift},
         .fixed = true,
         .decoding_zero = decoding_zero});
}

void LiveClock::Begin(const Entry& entry) {
  stretches_.push_back(entry);
  if (stretches_.size() > kKeptStretches) stretches_.pop_front();
}

LiveClock::Stretch LiveClock::At(std::int64_t clock_ns, std::int64_t slack_ns) {
  const MutexLock lock(mutex_);
  if (stretches_.empty()) return {};
  auto entry = stretches_.begin();
  for (auto next = entry; next != stretches_.end(); ++next) {
    if (next->stretch.start_ns <= clock_ns + slack_ns) entry = next;
  }
  if (!std::exchange(entry->fixed, true) && entry != stretches_.begin()) {
    WallTime& zero = entry->stretch.zero;
    const auto back = std::prev(entry)->stretch.zero - zero;
    if (back > back.zero() && back <= kEarlyDrift) zero += back;
  }
  return entry->stretch;
}

std::int64_t LiveClock::newest() const {
  const MutexLock lock(mutex_);
  return stretches_.empty() ? 0 : stretches_.back().stretch.number;
}

}  // namespace gopmill
