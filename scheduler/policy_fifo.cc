// SPDX-License-Identifier: Apache-2.0
//
// fifo: one shared queue; a worker that has nothing to do takes the oldest unit,
//     argmin of arrival over the heads of all lines.
// Binds late: nothing is ever put behind a running unit, so no worker is idle while units wait, and
// units leave in the order of arrival. No warmth. Among several idle workers the one that has been
// idle for longest is taken. O(1) per decision.
// Source: one queue for several servers (M/M/k, M/D/1 are what the simulator is validated by);
// "locking" in J. D. Salehi, J. F. Kurose, D. Towsley, "Scheduling for Cache Affinity in
// Parallelized Communication Protocols", UMass CMPSCI TR 94-75, 1994.
#include "scheduler/late_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Fifo final : public Policy {
 public:
  explicit Fifo(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    // Older heads cannot be waiting while a worker is idle, except those that failed on just that
    // worker; so a new one does not overtake anybody.
    const auto idle = [&](UnitRef ref) { return LongestIdleFor(pool.unit(ref), pool); };
    const auto oldest = [&](WorkerId w) { return OldestHeadFor(w, pool); };
    BindLate(event, pool, idle, oldest, actions);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFifo(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Fifo>(options));
}

}  // namespace gopmill
