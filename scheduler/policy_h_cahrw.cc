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
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/tree_choice.h"

namespace gopmill {
namespace {

class HCahrw final : public Policy {
 public:
  HCahrw(const PolicyOptions& options, const LoadTree& tree)
      : Policy(options.hash), choice_(options, tree) {}

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

Result<std::unique_ptr<Policy>> MakeHCahrw(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("h-cahrw", options.ratios));
  return std::unique_ptr<Policy>(std::make_unique<HCahrw>(options, pool.tree()));
}

}  // namespace gopmill
