// SPDX-License-Identifier: Apache-2.0
//
// What the dispatcher counts. Sums since the start; take two snapshots for a rate. `assigned` and
// `assigned_elsewhere` do not hold what was taken back before it began, so they can go down a bit.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

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

// Runs kept per worker, the newest.
inline constexpr std::size_t kRecentRuns = 64;

// A run that has ended, whatever its outcome.
struct WorkerRun {
  UnitId unit;
  TimePoint started, finished;
};

struct WorkerCounters {
  std::uint64_t jobs_done = 0;                // finished runs, whatever their outcome
  std::array<WorkerRun, kRecentRuns> runs{};  // run n, from 0, has the place n % kRecentRuns

  void Add(const WorkerRun& run) { runs[jobs_done++ % kRecentRuns] = run; }
  // Oldest first.
  [[nodiscard]] std::vector<WorkerRun> RecentRuns() const {
    std::vector<WorkerRun> recent;
    const std::uint64_t kept = std::min<std::uint64_t>(jobs_done, kRecentRuns);
    recent.reserve(kept);
    for (std::uint64_t n = jobs_done - kept; n < jobs_done; ++n) {
      recent.push_back(runs[n % kRecentRuns]);
    }
    return recent;
  }
};

}  // namespace gopmill
