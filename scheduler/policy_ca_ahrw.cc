// SPDX-License-Identifier: Apache-2.0
//
// ca-ahrw: the worker with the highest  w_p * g(stream, p)  over all workers p, with
//     w_p = Q'_min / Q'_p,   Q'_p = c[home][p] * Q_p,   w_p = 1 when Q_p = 0.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010; printed there with Q_min instead of Q'_min (WeightRule::kPrintedMinimum).
// O(workers) per decision.
#include <string>
#include <utility>
#include <vector>

#include "scheduler/early_binding.h"
#include "scheduler/flat_choice.h"
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

class CaAhrw final : public Policy {
 public:
  CaAhrw(const PolicyOptions& options, std::vector<double> matrix, int workers)
      : Policy(options.hash), choice_(options, std::move(matrix), workers) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return choice_.Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  FlatChoice choice_;
};

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
  std::vector<double> matrix =
      options.ratios.matrix.empty() ? RatiosOfTree(pool.tree(), workers) : options.ratios.matrix;
  return std::unique_ptr<Policy>(std::make_unique<CaAhrw>(options, std::move(matrix), workers));
}

}  // namespace gopmill
