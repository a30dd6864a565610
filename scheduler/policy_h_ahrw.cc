// SPDX-License-Identifier: Apache-2.0
//
// h-ahrw: ahrw at every level of the topology tree, a parent's queue being the sum of its
// children's (0 when one below is idle): the descent of tree_choice.h with all ratios 1.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010. O(sum of the fan-outs on one path).
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/tree_choice.h"

namespace gopmill {
namespace {

class HAhrw final : public Policy {
 public:
  HAhrw(const PolicyOptions& options, const LoadTree& tree)
      : Policy(options.hash), choice_(options, tree, Distances::kIgnored) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) {
      return choice_.Choose(pool.tree(), unit.home, unit.excluded);
    };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

  StreamHome Home(StreamId stream, const PoolState& pool) override {
    return choice_.Home(stream, pool);
  }

 private:
  TreeChoice choice_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHAhrw(const PolicyOptions& options, const PoolState& pool) {
  return std::unique_ptr<Policy>(std::make_unique<HAhrw>(options, pool.tree()));
}

}  // namespace gopmill
