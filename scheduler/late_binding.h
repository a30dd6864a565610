// SPDX-License-Identifier: Apache-2.0
//
// The common part of policies with a shared queue: units wait for nobody in particular until a
// worker has nothing left to do.
//
// Thread-safety: compatible (functions without state).
#pragma once

#include <variant>

#include "scheduler/policy.h"

namespace gopmill {

// The oldest head that may run on `w`; invalid if there is none.
inline UnitRef OldestHeadFor(WorkerId w, const PoolState& pool) {
  UnitRef ref = pool.OldestHead();
  while (ref.valid() && pool.unit(ref).excluded == w) ref = pool.NextHead(ref);
  return ref;
}

// The idle worker that has been so for longest and may run the unit; -1 if there is none.
inline WorkerId LongestIdleFor(const Unit& unit, const PoolState& pool) {
  const WorkerId w = pool.LongestIdle();
  return w.value >= 0 && w == unit.excluded ? pool.NextIdle(w) : w;
}

// The head of the class that is due first and may run on `w`; invalid if there is none.
inline UnitRef FirstHeadFor(int service_class, WorkerId w, const PoolState& pool) {
  UnitRef ref = pool.FirstHeadOf(service_class);
  while (ref.valid() && pool.unit(ref).excluded == w) ref = pool.NextHeadOf(ref);
  return ref;
}

// Answers `event`:
//   an arriving unit goes to `pick_worker(ref)`, an idle worker, or waits when that is -1;
//   a worker without units gets `pick_unit(worker)`, a head of a line, or stays idle if invalid.
template <class PickWorker, class PickUnit>
void BindLate(const PolicyEvent& event, const PoolState& pool, PickWorker&& pick_worker,
              PickUnit&& pick_unit, ActionList& actions) {
  if (const auto* arrived = std::get_if<Arrived>(&event)) {
    const WorkerId w = pick_worker(arrived->unit);
    if (w.value >= 0) {
      actions.Add(Assign{arrived->unit, w});
    } else {
      actions.Add(Hold{arrived->unit, WorkerId{}});
    }
  } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
    if (!pool.idle(free->worker)) return;
    const UnitRef ref = pick_unit(free->worker);
    if (ref.valid()) actions.Add(Assign{ref, free->worker});
  }
}

}  // namespace gopmill
