// SPDX-License-Identifier: Apache-2.0
//
// ahrw: the worker with the highest  r_p * g(stream, p),  r_p = Q_min / Q_p, r_p = 1 when Q_p = 0:
// while any worker is idle the busy ones score 0. Homes and distances play no part. O(workers).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010; the third statement of the rule there takes the smallest queue that is not
// empty (MinimumRule::kNonZero), which starves idle workers.
#include "scheduler/early_binding.h"
#include "scheduler/flat_choice.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Ahrw final : public Policy {
 public:
  Ahrw(const PolicyOptions& options, int workers)
      : Policy(options.hash), choice_(options, {}, workers) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return choice_.Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  FlatChoice choice_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeAhrw(const PolicyOptions& options, const PoolState& pool) {
  return std::unique_ptr<Policy>(std::make_unique<Ahrw>(options, pool.worker_count()));
}

}  // namespace gopmill
