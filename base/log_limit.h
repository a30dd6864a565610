// SPDX-License-Identifier: Apache-2.0
//
// Holds back lines of the log about what may happen with every request: one goes through, those of
// the next `interval` do not.
//
// Thread-safety: safe.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace gopmill {

class LogLimit {
 public:
  explicit LogLimit(Duration interval) : interval_(interval) {}

  // Whether a line may be written at `now`.
  bool Allows(TimePoint now = SteadyNow()) {
    Duration next = next_.load(std::memory_order_relaxed);
    if (now.time_since_epoch() < next) return false;
    // Of several threads at the same time one gets through.
    return next_.compare_exchange_strong(next, now.time_since_epoch() + interval_,
                                         std::memory_order_relaxed);
  }

 private:
  const Duration interval_;
  std::atomic<Duration> next_ = Duration::min();
};

}  // namespace gopmill
