// SPDX-License-Identifier: Apache-2.0
//
// h-cahrw: cache-aware adaptive highest random weight at every level of the topology tree. The
// descent and its source are in tree_choice.h.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/tree_choice.h"

namespace gopmill {
namespace {

class HCahrw final : public Policy {
 public:
  HCahrw(const PolicyOptions& options, const LoadTree& tree)
      : Policy(options.hash), choice_(options, tree), flat_home_(options.home == HomeRule::kFlat) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) {
      return choice_.Choose(pool.tree(), unit.home, unit.excluded);
    };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

  StreamHome Home(StreamId stream, const PoolState& pool) override {
    if (flat_home_) return Policy::Home(stream, pool);
    return choice_.Home(stream, pool.tree());
  }

 private:
  TreeChoice choice_;
  const bool flat_home_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHCahrw(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("h-cahrw", options.ratios));
  return std::unique_ptr<Policy>(std::make_unique<HCahrw>(options, pool.tree()));
}

}  // namespace gopmill
