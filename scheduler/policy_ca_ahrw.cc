// SPDX-License-Identifier: Apache-2.0
//
// ca-ahrw: the worker with the highest  w_p * g(stream, p)  over all workers p, with
//     w_p = Q'_min / Q'_p,   Q'_p = c[home][p] * Q_p,   w_p = 1 when Q_p = 0.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010; printed there with Q_min instead of Q'_min (WeightRule::kPrintedMinimum).
// O(workers) per decision.
#include <span>
#include <string>
#include <vector>

#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/queue_weight.h"

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
      : Policy(options.hash),
        options_(options),
        ratios_(std::move(matrix)),
        weighted_(static_cast<std::size_t>(workers)) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Pick(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  WorkerId Pick(const Unit& unit, const PoolState& pool) {
    if (unit.home.worker.value < 0) return {};
    const std::size_t n = weighted_.size();
    const auto row =
        std::span(ratios_).subspan(static_cast<std::size_t>(unit.home.worker.value) * n, n);
    const auto usable = [&](std::size_t i) {
      const WorkerId w{static_cast<std::int32_t>(i)};
      return pool.available(w) && w != unit.excluded;
    };
    QueueWeights weights(options_);
    for (std::size_t i = 0; i < n; ++i) {
      const auto queue = static_cast<double>(pool.loads()[i]);
      weighted_[i] = row[i] * queue;
      if (usable(i)) weights.See(weighted_[i], queue);
    }
    WorkerId best;
    double best_score = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = weights.Of(weighted_[i]);
      if (weight <= 0 || !usable(i)) continue;
      const double score = weight * Weight(hash_, unit.home.key, pool.candidates()[i]);
      if (score > best_score) {
        best_score = score;
        best = WorkerId{static_cast<std::int32_t>(i)};
      }
    }
    return best;
  }

  const PolicyOptions options_;
  const std::vector<double> ratios_;  // row-major, home x worker
  std::vector<double> weighted_;      // scratch
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeCaAhrw(const PolicyOptions& options, const PoolState& pool) {
  const int workers = pool.worker_count();
  if (workers > kMaxMatrixWorkers) {
    return InvalidArgument(
        "policy",
        "ca-ahrw looks at every worker for every unit and serves at most 256, not " +
            std::to_string(workers) + ".",
        "h-cahrw, or fewer workers");
  }
  std::vector<double> matrix =
      options.ratios.matrix.empty() ? RatiosOfTree(pool.tree(), workers) : options.ratios.matrix;
  return std::unique_ptr<Policy>(std::make_unique<CaAhrw>(options, std::move(matrix), workers));
}

}  // namespace gopmill
