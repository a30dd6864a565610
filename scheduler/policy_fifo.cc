// SPDX-License-Identifier: Apache-2.0
//
// fifo: one shared queue; a worker that has nothing to do takes the oldest unit. Binds late:
// nothing is ever put behind a running unit, so no worker is idle while units wait, and units leave
// in the order of arrival. No warmth. Among several idle workers the one that has been idle for
// longest is taken. O(1) per decision.
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Fifo final : public Policy {
 public:
  explicit Fifo(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    if (const auto* arrived = std::get_if<Arrived>(&event)) {
      OnArrived(arrived->unit, pool, actions);
    } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
      OnWorkerFree(free->worker, pool, actions);
    }
  }

 private:
  // Older heads cannot be waiting while a worker is idle, except those that failed on just that
  // worker; so the new one does not overtake anybody.
  static void OnArrived(UnitRef ref, const PoolState& pool, ActionList& actions) {
    const WorkerId excluded = pool.unit(ref).excluded;
    WorkerId w = pool.LongestIdle();
    if (w.value >= 0 && w == excluded) w = pool.NextIdle(w);
    if (w.value >= 0) {
      actions.Add(Assign{ref, w});
    } else {
      actions.Add(Hold{ref, WorkerId{}});
    }
  }

  static void OnWorkerFree(WorkerId w, const PoolState& pool, ActionList& actions) {
    if (!pool.idle(w)) return;
    for (UnitRef ref = pool.OldestHead(); ref.valid(); ref = pool.NextHead(ref)) {
      if (pool.unit(ref).excluded == w) continue;
      actions.Add(Assign{ref, w});
      return;
    }
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFifo(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Fifo>(options));
}

}  // namespace gopmill
