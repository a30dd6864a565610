// SPDX-License-Identifier: Apache-2.0
//
// h-cahrw: cache-aware adaptive highest random weight at every level of the topology tree: from the
// root down the child with the highest  w * g,
//     w  = Q'_min / Q' over the children, 1 when Q' = 0;   g = hash weight of (stream, child)
//     Q' = c[home][p] * Q_p of a worker p; 0 of a node above an idle worker, else the mean of its
//          workers (published: the sum, ChildRule::kEqual).
// tree_choice.h has the descent and why it is cheap. O(sum of the fan-outs on one path).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010 (H-CAHRW).
#include "scheduler/adaptive_policy.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeHCahrw(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("h-cahrw", options.ratios));
  return MakeTreePolicy(options, pool, Distances::kCounted);
}

}  // namespace gopmill
