// SPDX-License-Identifier: Apache-2.0
//
// The common part of policies that can name a worker for a unit at any time ("pick"): assign the
// unit if the worker has room, hold it for that worker otherwise, and look again when room comes.
//
// Thread-safety: compatible (functions without state).
#pragma once

#include <variant>

#include "scheduler/policy.h"

namespace gopmill {

enum class Rebinding {
  // What was picked stays picked: the unit goes to that worker and no other. For rules that do not
  // look at queues, where looking again would either change nothing (hrw, sm) or be wrong (rr).
  kNever,
  // The pick is made again on the queues of the moment. An idle worker that nobody waits for is
  // offered the oldest heads, whoever they wait for: no worker stays idle while units wait.
  kOnEveryOffer,
};

// Bounds the work of one event when many heads are held for the same worker.
inline constexpr int kMaxOffers = 8;

namespace internal {

template <class Pick>
bool AssignOrHold(UnitRef ref, const PoolState& pool, Pick& pick, ActionList& actions) {
  const WorkerId worker = pick(pool.unit(ref));
  if (worker.value >= 0 && pool.has_room(worker)) {
    actions.Add(Assign{ref, worker});
    return true;
  }
  actions.Add(Hold{ref, worker});
  return false;
}

template <class Pick>
void OfferTo(WorkerId free, const PoolState& pool, Pick& pick, ActionList& actions) {
  int offers = 0;
  for (UnitRef ref = pool.OldestHeldFor(free); ref.valid() && offers < kMaxOffers;
       ref = pool.NextHeld(ref), ++offers) {
    if (AssignOrHold(ref, pool, pick, actions)) return;
  }
  if (!pool.idle(free)) return;
  offers = 0;
  for (UnitRef ref = pool.OldestHead(); ref.valid() && offers < kMaxOffers;
       ref = pool.NextHead(ref)) {
    const Unit& unit = pool.unit(ref);
    if (unit.excluded == free || unit.worker == free) continue;
    ++offers;
    if (AssignOrHold(ref, pool, pick, actions)) return;
  }
}

}  // namespace internal

// Answers `event` with the help of `pick`: WorkerId(const Unit&), -1 when no worker can be had.
template <class Pick>
void BindEarly(const PolicyEvent& event, const PoolState& pool, Rebinding rebinding, Pick&& pick,
               ActionList& actions) {
  if (const auto* arrived = std::get_if<Arrived>(&event)) {
    internal::AssignOrHold(arrived->unit, pool, pick, actions);
  } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
    if (rebinding == Rebinding::kOnEveryOffer) {
      internal::OfferTo(free->worker, pool, pick, actions);
    } else if (const UnitRef held = pool.OldestHeldFor(free->worker); held.valid()) {
      actions.Add(Assign{held, free->worker});
    }
  }
}

}  // namespace gopmill
