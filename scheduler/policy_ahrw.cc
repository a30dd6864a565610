// SPDX-License-Identifier: Apache-2.0
//
// ahrw: the worker with the highest  r_p * g(stream, p),  r_p = Q_min / Q_p, r_p = 1 when Q_p = 0:
// while any worker is idle the busy ones score 0. Homes and distances play no part. O(workers).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010; the third statement of the rule there takes the smallest queue that is not
// empty (MinimumRule::kNonZero), which starves idle workers.
#include "scheduler/adaptive_policy.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeAhrw(const PolicyOptions& options, const PoolState& pool) {
  return MakeFlatPolicy(options, pool, {});
}

}  // namespace gopmill
