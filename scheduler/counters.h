// SPDX-License-Identifier: Apache-2.0
//
// What the dispatcher counts. Sums since the start; take two snapshots for a rate. `assigned` and
// `assigned_elsewhere` do not hold what was taken back before it began, so they can go down a bit.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace gopmill {

struct SchedulerCounters {
  std::uint64_t submitted = 0;
  std::uint64_t assigned = 0;            // retries included
  std::uint64_t assigned_elsewhere = 0;  // of these, not to the home of the stream ("disruption")
  std::uint64_t retries = 0;
  std::uint64_t cancelled = 0;  // reported without having run
  std::uint64_t decisions = 0;  // calls of the policy
  Duration decision_time{};     // inside them
  Duration run_time{};          // inside finished runs, all workers together
};

struct WorkerCounters {
  std::uint64_t jobs_done = 0;  // finished runs, whatever their outcome
};

}  // namespace gopmill
