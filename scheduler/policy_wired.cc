// SPDX-License-Identifier: Apache-2.0
//
// wired: streams are wired to workers for good and wait while theirs is busy, however idle the
// others are:
//     worker of a unit = number of its stream mod N
// Bound when the worker has nothing left, so that nothing is ever queued behind a running unit.
// When that worker is out of service (or failed the unit), the next one that is in service stands
// in. O(1) for arrivals; a free worker looks at the units held for it.
// Source: "wired streams" in J. D. Salehi, J. F. Kurose, D. Towsley, "Scheduling for Cache Affinity
// in Parallelized Communication Protocols", UMass CMPSCI TR 94-75, 1994.
#include "scheduler/policy_registry.h"
#include "scheduler/worker_by_number.h"

namespace gopmill {
namespace {

class Wired final : public Policy {
 public:
  explicit Wired(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    if (const auto* arrived = std::get_if<Arrived>(&event)) {
      const WorkerId w = WorkerByNumber(pool.unit(arrived->unit), pool);
      if (w.value >= 0 && pool.idle(w)) {
        actions.Add(Assign{arrived->unit, w});
      } else {
        actions.Add(Hold{arrived->unit, w});
      }
    } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
      const UnitRef held = pool.OldestHeldFor(free->worker);
      if (held.valid() && pool.idle(free->worker)) actions.Add(Assign{held, free->worker});
    }
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeWired(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Wired>(options));
}

}  // namespace gopmill
