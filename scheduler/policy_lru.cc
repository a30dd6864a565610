// SPDX-License-Identifier: Apache-2.0
//
// lru: one shared queue; among idle workers the one that was active least recently takes the oldest
// unit,
//     worker = argmin over the idle p of e_p,   e_p: end of the last run on p
//     unit   = argmin of arrival over the heads of all lines
// Work is spread evenly, and caches are as cold as they can be. The opposite of mru, and what fifo
// does here too (fifo leaves the worker open). O(1).
// Source: J. D. Salehi, J. F. Kurose, D. Towsley, "Scheduling for Cache Affinity in Parallelized
// Communication Protocols", UMass CMPSCI TR 94-75, 1994.
#include "scheduler/late_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Lru final : public Policy {
 public:
  explicit Lru(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto longest = [&](UnitRef ref) { return LongestIdleFor(pool.unit(ref), pool); };
    const auto oldest = [&](WorkerId w) { return OldestHeadFor(w, pool); };
    BindLate(event, pool, longest, oldest, actions);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeLru(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Lru>(options));
}

}  // namespace gopmill
