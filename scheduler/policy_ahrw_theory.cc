// SPDX-License-Identifier: Apache-2.0
//
// ahrw-theory: what ahrw would be if its weights were exact. Target shares of the workers
//     p_i = (Q_min / Q_i) / sum_j (Q_min / Q_j)
// (idle workers share everything while there are any), the multipliers x_i that give these shares
// (carp.h), and the worker with the highest  x_i * g_i.  N calls of pow per decision: for small N.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010, the comparison with theory.
#include <algorithm>
#include <span>
#include <vector>

#include "scheduler/carp.h"
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class AhrwTheory final : public Policy {
 public:
  AhrwTheory(const PolicyOptions& options, int workers)
      : Policy(options.hash),
        multipliers_(static_cast<std::size_t>(workers)),
        shares_(static_cast<std::size_t>(workers)) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  // 1 / Q of every worker that may be used; while any is idle, 1 for the idle ones alone.
  bool FindShares(const Unit& unit, const PoolState& pool) {
    double sum = 0;
    bool any_idle = false;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const WorkerId w{static_cast<std::int32_t>(i)};
      const bool usable = pool.available(w) && w != unit.excluded;
      if (usable && pool.loads()[i] == 0 && !any_idle) {
        any_idle = true;
        std::fill(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(i), 0.0);
        sum = 0;
      }
      shares_[i] = 0;
      if (!usable || (any_idle && pool.loads()[i] > 0)) continue;
      shares_[i] = any_idle ? 1.0 : 1.0 / static_cast<double>(pool.loads()[i]);
      sum += shares_[i];
    }
    for (double& share : shares_) share /= sum > 0 ? sum : 1;
    return sum > 0;
  }

  WorkerId Choose(const Unit& unit, const PoolState& pool) {
    if (!FindShares(unit, pool)) return {};
    const std::span<const double> x = multipliers_.Of(shares_);
    WorkerId best;
    double best_score = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] <= 0) continue;
      const double score = x[i] * Weight(hash_, unit.home.key, pool.candidates()[i]);
      if (score > best_score) {
        best_score = score;
        best = WorkerId{static_cast<std::int32_t>(i)};
      }
    }
    return best;
  }

  CarpMultipliers multipliers_;
  std::vector<double> shares_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeAhrwTheory(const PolicyOptions& options,
                                               const PoolState& pool) {
  return std::unique_ptr<Policy>(std::make_unique<AhrwTheory>(options, pool.worker_count()));
}

}  // namespace gopmill
