// SPDX-License-Identifier: Apache-2.0
//
// mru: one shared queue; among idle workers the one that was active last takes the oldest unit,
//     worker = argmax over the idle p of e_p,   e_p: end of the last run on p
//     unit   = argmin of arrival over the heads of all lines
// so that its caches are as warm as they can be and the others stay asleep. O(1).
// Source: J. D. Salehi, J. F. Kurose, D. Towsley, "Scheduling for Cache Affinity in Parallelized
// Communication Protocols", UMass CMPSCI TR 94-75, 1994.
#include "scheduler/late_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Mru final : public Policy {
 public:
  explicit Mru(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto latest = [&](UnitRef ref) {
      const WorkerId w = pool.LatestIdle();
      return w.value >= 0 && w == pool.unit(ref).excluded ? pool.PreviousIdle(w) : w;
    };
    const auto oldest = [&](WorkerId w) { return OldestHeadFor(w, pool); };
    BindLate(event, pool, latest, oldest, actions);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeMru(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Mru>(options));
}

}  // namespace gopmill
