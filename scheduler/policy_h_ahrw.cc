// SPDX-License-Identifier: Apache-2.0
//
// h-ahrw: ahrw at every level of the topology tree: from the root down the child with the highest
// w * g,
//     w = Q_min / Q over the children, 1 when Q = 0;   g = hash weight of (stream, child)
//     Q = the queue of a worker; 0 of a node above an idle worker, else the mean of its workers
//         in service
// This is the descent of tree_choice.h with all ratios 1. As published Q is the sum, which chooses
// the same where siblings have as many workers in service; where they have not, ChildRule::kEqual
// has it so, and the default weighs the hash by the number of workers as well (load_tree.h).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010. O(sum of the fan-outs on one path).
#include "scheduler/adaptive_policy.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeHAhrw(const PolicyOptions& options, const PoolState& pool) {
  return MakeTreePolicy(options, pool, Distances::kIgnored);
}

}  // namespace gopmill
