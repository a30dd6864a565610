// SPDX-License-Identifier: Apache-2.0
//
// One policy against another over a wide field of conditions: machines of 8 to 1,024 PUs, cost
// spreads, numbers of warm contexts, and loads from half empty to full.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/sim/replication.h"
#include "scheduler/sim/sweep.h"

namespace gopmill::sim {

// The points of the comparison; the rest of each experiment is that of `base`. Bigger machines get
// more streams and fewer units of each. Each is to be run with several seeds (WithSeeds).
std::vector<GridPoint> CheckGrid(const Experiment& base);

// The constants of the policies here were chosen on seeds below it; the check uses others.
inline constexpr std::uint64_t kFirstHeldOutSeed = 1000;

// What is asked of the policy at each point: this much more throughput, or this much less p99
// latency, in the mean over the seeds. Worse is what loses more than the tolerance of either in the
// mean, with 1 outside the 95 % interval.
struct CheckGoal {
  double throughput = 1.10;
  double p99 = 0.70;
  double tolerance = 0.01;
};

struct CheckSummary {
  std::size_t points = 0;
  std::size_t reached = 0;                     // the goal
  std::size_t worse = 0;                       // in one of the two
  std::size_t failed = 0;                      // one of the policies could not serve the point
  double worst_throughput = 0, worst_p99 = 0;  // means of the ratios policy / rival
  std::string text;  // a line per point, the worst ones, sums by setting, the sum
};
// `runs`: of RunGrid over the points with the policies {policy, rival}. Points that differ by their
// seed alone are one; the ratios are those of runs of the same seed, so of the same work.
CheckSummary SummariseCheck(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                            const CheckGoal& goal);

}  // namespace gopmill::sim
