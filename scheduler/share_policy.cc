// SPDX-License-Identifier: Apache-2.0
#include "scheduler/share_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "scheduler/early_binding.h"
#include "scheduler/fair_queue.h"
#include "scheduler/late_binding.h"
#include "scheduler/passed_over.h"

namespace gopmill {
namespace {

class SharePolicy : public Policy {
 public:
  SharePolicy(StreamCores::Base base, const PolicyOptions& options, const PoolState& pool)
      : Policy(options.hash), cores_(base, options, pool) {}

  StreamHome Home(StreamId stream, const PoolState& pool) override {
    return cores_.Home(stream, pool);
  }

 protected:
  // Whether the unit is one of those that belong on the residual worker of its stream's set.
  static bool OnResidual(const Unit& unit, const CoreSet& set) {
    if (!set.residual) return false;
    const auto draw =
        Mix64(unit.home.key ^ Mix64(static_cast<std::uint64_t>(unit.spec.unit.index.value)));
    return static_cast<double>(draw >> 11) * 0x1p-53 < set.fraction;
  }

  // Of the workers the unit belongs on, the best one that `usable` lets through; -1 if none.
  template <class Usable>
  static WorkerId BestOf(const Unit& unit, const CoreSet& set, const PoolState& pool,
                         Usable usable) {
    const bool residual = OnResidual(unit, set);
    const int first = residual ? set.count - 1 : 0;
    const int end = residual || !set.residual ? set.count : set.count - 1;
    WorkerId best;
    for (int i = first; i < end; ++i) {
      const WorkerId w{set.workers[static_cast<std::size_t>(i)]};
      if (!pool.available(w) || w == unit.excluded || !usable(w)) continue;
      if (best.value < 0 || Load(pool, w) < Load(pool, best)) best = w;
    }
    return best;
  }

  static std::uint64_t Load(const PoolState& pool, WorkerId w) {
    return pool.loads()[static_cast<std::size_t>(w.value)];
  }

  StreamCores cores_;
};

class TwoLevel final : public SharePolicy {
 public:
  TwoLevel(StreamCores::Base base, const PolicyOptions& options, const PoolState& pool)
      : SharePolicy(base, options, pool), queue_(pool.classes()) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    if (const auto* ran = std::get_if<UnitFinished>(&event)) {
      Settle(pool.unit(ran->unit), ran->busy);
      return;
    }
    if (const auto* recalled = std::get_if<UnitRecalled>(&event)) {
      Settle(pool.unit(recalled->unit), Duration::zero());
      return;
    }
    if (std::holds_alternative<WorkersChanged>(event)) cores_.Forget();
    Weigh(pool);
    const auto worker = [&](UnitRef ref) { return IdleWorkerFor(ref, pool); };
    const auto unit = [&](WorkerId w) { return NextFor(w, pool); };
    BindLate(event, pool, worker, unit, actions);
    for (const PolicyAction& action : actions.actions()) {
      if (const auto* assign = std::get_if<Assign>(&action)) Charge(*assign, pool);
    }
  }

 private:
  // What the pool will expect of the run, so that Finish corrects exactly that.
  void Charge(const Assign& assign, const PoolState& pool) {
    const Unit& unit = pool.unit(assign.unit);
    queue_.Start(unit.service_class, std::floor(pool.expected_run(unit, assign.worker)));
  }

  void Settle(const Unit& unit, Duration took) {
    queue_.Finish(unit.service_class, static_cast<double>(unit.expected),
                  static_cast<double>(took.count()));
  }

  // Of the classes that have units waiting now.
  void Weigh(const PoolState& pool) {
    std::uint64_t backlogged = 0;
    for (std::size_t c = 0; c < pool.classes().size(); ++c) {
      const bool waits = pool.class_state(static_cast<int>(c)).waiting_units > 0;
      backlogged |= static_cast<std::uint64_t>(waits) << c;
    }
    const int workers = pool.available_workers();
    if (backlogged == backlogged_ && workers == workers_) return;
    backlogged_ = backlogged;
    workers_ = workers;
    const ClassWeights weights = EffectiveWeights(pool.classes(), backlogged, workers);
    weight_sum_ = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t c = 0; c < pool.classes().size(); ++c) {
      if (weights[c] > 0 && weights[c] != queue_.WeightOf(c)) queue_.SetWeight(c, weights[c]);
    }
  }

  [[nodiscard]] double ShareOf(const Unit& unit, const PoolState& pool) const {
    const double of_class =
        queue_.WeightOf(static_cast<std::size_t>(unit.service_class)) / weight_sum_;
    const auto phi = static_cast<double>(pool.waiting_bytes_of(unit));
    const auto all = static_cast<double>(pool.class_state(unit.service_class).waiting_bytes);
    return pool.available_workers() * of_class * phi / all;
  }

  // While somebody is idle nobody else waits (but units that failed there), so fairness has no say.
  WorkerId IdleWorkerFor(UnitRef ref, const PoolState& pool) {
    const Unit& unit = pool.unit(ref);
    const WorkerId any = LongestIdleFor(unit, pool);
    if (any.value < 0) return any;
    const CoreSet& set = cores_.Of(unit, ShareOf(unit, pool), pool);
    const auto idle = [&](WorkerId w) { return pool.idle(w); };
    const WorkerId own = BestOf(unit, set, pool, idle);
    return own.value >= 0 ? own : any;
  }

  UnitRef NextFor(WorkerId w, const PoolState& pool) {
    const int c = NextClass(w, pool);
    if (c < 0) return {};
    UnitRef first;
    int looked_at = 0;
    for (UnitRef ref = pool.FirstHeadOf(c); ref.valid() && looked_at < kMaxOffers;
         ref = pool.NextHeadOf(ref)) {
      const Unit& unit = pool.unit(ref);
      if (unit.excluded == w) continue;
      ++looked_at;
      if (!first.valid()) first = ref;
      if (unit.spec.deadline != pool.unit(first).spec.deadline) break;
      const CoreSet& set = cores_.Of(unit, ShareOf(unit, pool), pool);
      const bool own = BestOf(unit, set, pool, [&](WorkerId each) { return each == w; }) == w;
      if (!set.everywhere && !own) continue;
      if (ref == first) return ref;
      PassedOver& passed = passed_.at(static_cast<std::size_t>(c));
      return passed.Again(pool.unit(first).spec.unit) ? ref : first;
    }
    return first;
  }

  // Classes at their maximum come last.
  int NextClass(WorkerId w, const PoolState& pool) const {
    int best = -1;
    bool best_full = false;
    for (int c = 0; c < static_cast<int>(pool.classes().size()); ++c) {
      if (pool.class_state(c).waiting_units == 0) continue;
      const bool full = IsFull(c, pool);
      const auto i = static_cast<std::size_t>(c);
      const bool before =
          best < 0 || full < best_full ||
          (full == best_full && queue_.TagOf(i) < queue_.TagOf(static_cast<std::size_t>(best)));
      if (!before || !FirstHeadFor(c, w, pool).valid()) continue;
      best = c;
      best_full = full;
    }
    return best;
  }

  static bool IsFull(int c, const PoolState& pool) {
    const ServiceClass& settings = pool.classes()[static_cast<std::size_t>(c)];
    return settings.max_workers > 0 && pool.class_state(c).assigned_units >= settings.max_workers;
  }

  FairQueue queue_;
  // By class: a unit whose set is no worker that comes, as that has failed it, goes to any in time.
  std::array<PassedOver, kMaxClasses> passed_{};
  std::uint64_t backlogged_ = 0;  // bit c: class c has units
  int workers_ = 0;               // in service; the weights are for these
  double weight_sum_ = 0;         // of those classes
};

class OneLevel final : public SharePolicy {
 public:
  using SharePolicy::SharePolicy;

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    if (std::holds_alternative<WorkersChanged>(event)) cores_.Forget();
    const auto pick = [&](const Unit& unit) { return Pick(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  WorkerId Pick(const Unit& unit, const PoolState& pool) {
    const auto all = static_cast<double>(std::max<std::uint64_t>(1, pool.waiting_bytes()));
    const auto phi = static_cast<double>(pool.waiting_bytes_of(unit));
    const CoreSet& set = cores_.Of(unit, pool.available_workers() * phi / all, pool);
    const WorkerId own = BestOf(unit, set, pool, [](WorkerId) { return true; });
    if (own.value >= 0) return own;
    // A share that rounds to nothing, or a set that has failed the unit: the home, or who is there.
    if (!set.everywhere && pool.available(unit.home.worker) && unit.home.worker != unit.excluded) {
      return unit.home.worker;
    }
    return LeastLoaded(unit, pool);
  }

  static WorkerId LeastLoaded(const Unit& unit, const PoolState& pool) {
    WorkerId best;
    for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
      const WorkerId w{i};
      if (!pool.available(w) || w == unit.excluded) continue;
      if (best.value < 0 || Load(pool, w) < Load(pool, best)) best = w;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Policy> MakeSharePolicy(StreamCores::Base base, const PolicyOptions& options,
                                        const PoolState& pool) {
  if (options.share == ShareRule::kOneLevel) {
    return std::make_unique<OneLevel>(base, options, pool);
  }
  return std::make_unique<TwoLevel>(base, options, pool);
}

}  // namespace gopmill
