// SPDX-License-Identifier: Apache-2.0
//
// ca-ahrw: the worker with the highest  w_p * g(stream, p)  over all workers p, with
//     w_p = Q'_min / Q'_p,   Q'_p = c[home][p] * Q_p,   w_p = 1 when Q_p = 0.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010; printed there with Q_min instead of Q'_min (WeightRule::kPrintedMinimum).
// O(workers) per decision.
#include <string>
#include <vector>

#include "scheduler/adaptive_policy.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

std::vector<double> RatiosOfTree(const LoadTree& tree, int workers) {
  std::vector<double> matrix;
  for (std::int32_t i = 0; i < workers; ++i) {
    for (std::int32_t j = 0; j < workers; ++j) {
      int common = tree.leaf_index(WorkerId{i});
      while (!tree.node(common).Holds(WorkerId{j})) common = tree.node(common).parent;
      matrix.push_back(i == j ? 1.0 : tree.node(common).ratio);
    }
  }
  return matrix;
}

}  // namespace

Result<std::unique_ptr<Policy>> MakeCaAhrw(const PolicyOptions& options, const PoolState& pool) {
  const int workers = pool.worker_count();
  if (workers > kMaxMatrixWorkers) {
    return InvalidArgument(
        "scheduler.policy",
        "ca-ahrw looks at every worker for every unit and serves at most 256, not " +
            std::to_string(workers) + ".",
        "h-cahrw, or fewer workers");
  }
  const std::vector<double>& given = options.ratios.matrix;
  return MakeFlatPolicy(options, pool, given.empty() ? RatiosOfTree(pool.tree(), workers) : given);
}

}  // namespace gopmill
