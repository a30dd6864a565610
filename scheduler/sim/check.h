// SPDX-License-Identifier: Apache-2.0
//
// One policy against another over a wide field of conditions: machines of 8 to 1,024 PUs, cost
// spreads, numbers of warm contexts, and loads from half empty to full.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/sweep.h"

namespace gopmill::sim {

// The points of the comparison; the rest of each experiment is that of `base`. Bigger machines get
// more streams and fewer units of each.
std::vector<GridPoint> CheckGrid(const Experiment& base);

// What is asked of the policy at each point: this much more throughput, or this much less p99
// latency; and nowhere less throughput or more p99 latency (but for the tolerance, which is what
// the seed alone makes).
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
  double worst_throughput = 0, worst_p99 = 0;  // ratios policy / rival
  std::string text;                            // a line per point, the worst ones, the sum
};
// `runs`: of RunGrid over the points with the policies {policy, rival}.
CheckSummary SummariseCheck(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                            const CheckGoal& goal);

}  // namespace gopmill::sim
