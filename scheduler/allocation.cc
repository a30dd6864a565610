// SPDX-License-Identifier: Apache-2.0
#include "scheduler/allocation.h"

#include <array>
#include <cstddef>
#include <utility>

#include "scheduler/early_binding.h"
#include "scheduler/late_binding.h"
#include "scheduler/passed_over.h"

namespace gopmill {
namespace {

// The unit that is due first, or one of the next few if only that is warm on `w`.
UnitRef BestOf(int service_class, WorkerId w, const PoolState& pool) {
  const UnitRef first = FirstHeadFor(service_class, w, pool);
  int looked_at = 0;
  for (UnitRef ref = first; ref.valid() && looked_at < kMaxOffers;
       ref = pool.NextHeadOf(ref), ++looked_at) {
    const Unit& unit = pool.unit(ref);
    // Only among equals: a deadline goes before warmth.
    if (unit.spec.deadline != pool.unit(first).spec.deadline) break;
    if (unit.excluded != w && pool.warm(ref, w)) return ref;
  }
  return first;
}

class ClassPolicy final : public Policy {
 public:
  ClassPolicy(const PolicyOptions& options, std::unique_ptr<Allocation> allocation)
      : Policy(options.hash), allocation_(std::move(allocation)) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint now,
          ActionList& actions) override {
    if (const auto* arrived = std::get_if<Arrived>(&event)) {
      OnArrived(arrived->unit, pool, now, actions);
    } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
      OnFree(free->worker, pool, now, actions);
    } else if (const auto* ran = std::get_if<UnitFinished>(&event)) {
      allocation_->OnFinished(pool.unit(ran->unit).service_class, ran->worker, ran->busy, pool,
                              now);
    } else if (const auto* changed = std::get_if<WorkersChanged>(&event)) {
      allocation_->OnWorkersChanged(changed->worker, pool);
    }
  }

 private:
  void OnArrived(UnitRef ref, const PoolState& pool, TimePoint now, ActionList& actions) {
    const Unit& unit = pool.unit(ref);
    allocation_->OnArrived(unit.service_class, pool, now);
    if (const WorkerId w = IdleWorkerFor(ref, pool, now); w.value >= 0) {
      // Where its class was given the worker just now, others of it may wait for longer.
      const UnitRef first = Choose(unit.service_class, w, pool);
      allocation_->OnServes(unit.service_class, w, now);
      Put(first, w, pool, now, actions);
      if (first == ref) return;
    } else if (unit.excluded.value >= 0) {
      if (const WorkerId any = LongestIdleFor(unit, pool); any.value >= 0) {
        return Put(ref, any, pool, now, actions);
      }
    }
    actions.Add(Hold{ref, WorkerId{}});
  }

  // An idle worker that would serve the class of the unit now, a warm one if there is one.
  WorkerId IdleWorkerFor(UnitRef ref, const PoolState& pool, TimePoint now) {
    const Unit& unit = pool.unit(ref);
    WorkerId chosen;
    for (WorkerId w = pool.LongestIdle(); w.value >= 0; w = pool.NextIdle(w)) {
      if (w == unit.excluded || allocation_->ClassFor(w, pool, now) != unit.service_class) continue;
      if (pool.warm(ref, w)) return w;
      if (chosen.value < 0) chosen = w;
    }
    return chosen;
  }

  // One that was given away while it was idle is told first; `w` is asked for again then.
  void OnFree(WorkerId w, const PoolState& pool, TimePoint now, ActionList& actions) {
    const WorkerId given = allocation_->TakeGiven();
    if (given.value >= 0 && given != w && Serve(given, pool, now, actions)) return;
    Serve(w, pool, now, actions);
  }

  // False if there is nothing for it.
  bool Serve(WorkerId w, const PoolState& pool, TimePoint now, ActionList& actions) {
    if (!pool.idle(w) || !pool.OldestHead().valid()) return false;
    UnitRef ref = StrandedRetryFor(w, pool);
    if (!ref.valid()) {
      const int service_class = allocation_->ClassFor(w, pool, now);
      if (service_class >= 0) allocation_->OnServes(service_class, w, now);
      ref = service_class >= 0 ? Choose(service_class, w, pool) : RetryFor(w, pool);
    }
    if (ref.valid()) Put(ref, w, pool, now, actions);
    return ref.valid();
  }

  void Put(UnitRef ref, WorkerId w, const PoolState& pool, TimePoint now, ActionList& actions) {
    allocation_->OnStarted(pool.unit(ref).service_class, w, now);
    actions.Add(Assign{ref, w});
  }

  UnitRef Choose(int service_class, WorkerId w, const PoolState& pool) {
    const UnitRef first = FirstHeadFor(service_class, w, pool);
    const UnitRef best = BestOf(service_class, w, pool);
    if (best == first) return first;
    PassedOver& passed = passed_.at(static_cast<std::size_t>(service_class));
    return passed.Again(pool.unit(first).spec.unit) ? best : first;
  }

  // A unit that failed on the only worker of its class. It goes first, for `w` may never run out of
  // units of its own. The others of its class go on, so what is left is soon at the front of it.
  [[nodiscard]] UnitRef StrandedRetryFor(WorkerId w, const PoolState& pool) const {
    for (int c = 0; c < static_cast<int>(pool.classes().size()); ++c) {
      for (UnitRef ref = pool.FirstHeadOf(c); ref.valid(); ref = pool.NextHeadOf(ref)) {
        const WorkerId failed_on = pool.unit(ref).excluded;
        if (failed_on.value < 0) break;
        if (failed_on != w && allocation_->IsAloneFor(c, failed_on)) return ref;
      }
    }
    return {};
  }

  // What nobody of its class may run at present, a worker without anything else may. Looks at all
  // heads where none has failed: that is where a worker stays idle beside units that wait, under
  // `static` and `everest`.
  static UnitRef RetryFor(WorkerId w, const PoolState& pool) {
    UnitRef ref = pool.OldestHead();
    while (ref.valid() && (pool.unit(ref).excluded.value < 0 || pool.unit(ref).excluded == w)) {
      ref = pool.NextHead(ref);
    }
    return ref;
  }

  const std::unique_ptr<Allocation> allocation_;
  std::array<PassedOver, kMaxClasses> passed_{};  // by class
};

}  // namespace

std::unique_ptr<Policy> MakeClassPolicy(const PolicyOptions& options,
                                        std::unique_ptr<Allocation> allocation) {
  return std::make_unique<ClassPolicy>(options, std::move(allocation));
}

bool HasUnitFor(int service_class, WorkerId w, const PoolState& pool) {
  return FirstHeadFor(service_class, w, pool).valid();
}

void FindShares(std::span<const ServiceClass> classes, std::span<double> shares) {
  double weights = 0;
  double left = 1;
  for (const ServiceClass& c : classes) {
    weights += c.weight;
    left -= c.guaranteed;
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    shares[i] = classes[i].guaranteed + (left > 0 ? left * classes[i].weight / weights : 0);
  }
}

}  // namespace gopmill
