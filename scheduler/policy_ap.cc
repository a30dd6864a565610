// SPDX-License-Identifier: Apache-2.0
//
// ap: adaptive partitioning: the workers are divided among the classes that have units, in
// proportion to their weights, dealt out in turn; a unit goes to the least loaded worker of its
// class's part. With w_c the weight of class c and n_c the workers that it was dealt so far,
//     owner of the k-th worker = argmax over c with units of  k * w_c / (sum of w of these) - n_c
//     worker of a unit         = argmin of Q_p over the p of its class,   Q_p: bytes that p holds
// The parts are dealt anew whenever the set of classes with units, or that of the workers in
// service, changes. Not work conserving: a part whose class has little to do idles. O(workers).
// Source: the adaptive partitioning of J. Guo, as summarised in D. Guo, "Multicore Scheduling for
// Network Applications Based on Highest Random Weight", UC Riverside, 2010, related work.
#include <algorithm>
#include <vector>

#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Ap final : public Policy {
 public:
  Ap(const PolicyOptions& options, const PoolState& pool)
      : Policy(options.hash),
        owner_(static_cast<std::size_t>(pool.worker_count()), -1),
        dealt_(pool.classes().size(), 0) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    if (std::holds_alternative<WorkersChanged>(event)) dealt_for_ = 0;
    Deal(pool);
    const auto pick = [&](const Unit& unit) { return LeastLoaded(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  static bool Active(const ClassState& c) { return c.waiting_units > 0 || c.assigned_units > 0; }

  // Gives every worker in service the class that is furthest below its share of those dealt so far.
  void Deal(const PoolState& pool) {
    std::uint64_t active = 0;
    double weights = 0;
    for (std::size_t c = 0; c < pool.classes().size(); ++c) {
      if (!Active(pool.class_state(static_cast<int>(c)))) continue;
      active |= std::uint64_t{1} << c;
      weights += pool.classes()[c].weight;
    }
    if (active == dealt_for_) return;
    dealt_for_ = active;
    std::fill(dealt_.begin(), dealt_.end(), 0);
    std::size_t dealt = 0;
    for (std::size_t w = 0; w < owner_.size(); ++w) {
      const bool available = pool.available(WorkerId{static_cast<std::int32_t>(w)});
      owner_[w] = available ? MostBehind(pool, active, weights, dealt++) : -1;
    }
  }

  int MostBehind(const PoolState& pool, std::uint64_t active, double weights, std::size_t workers) {
    int best = -1;
    double best_lack = 0;
    for (std::size_t c = 0; c < dealt_.size(); ++c) {
      if ((active >> c & 1) == 0) continue;
      const double due = pool.classes()[c].weight / weights * static_cast<double>(workers + 1);
      const double lack = due - dealt_[c];
      if (best >= 0 && lack <= best_lack) continue;
      best = static_cast<int>(c);
      best_lack = lack;
    }
    if (best >= 0) ++dealt_[static_cast<std::size_t>(best)];
    return best;
  }

  // A class uses all workers if it got none (more classes than workers), or if none of its own may
  // run the unit: it failed on the only one.
  WorkerId LeastLoaded(const Unit& unit, const PoolState& pool) const {
    WorkerId own, any;
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      const WorkerId w{static_cast<std::int32_t>(i)};
      if (!pool.available(w) || w == unit.excluded) continue;
      if (IsBetter(w, any, pool)) any = w;
      if (owner_[i] == unit.service_class && IsBetter(w, own, pool)) own = w;
    }
    return own.value >= 0 ? own : any;
  }

  static bool IsBetter(WorkerId w, WorkerId best, const PoolState& pool) {
    const auto load = [&pool](WorkerId x) {
      return pool.loads()[static_cast<std::size_t>(x.value)];
    };
    return best.value < 0 || load(w) < load(best);
  }

  std::vector<int> owner_;       // class by worker; -1 = out of service
  std::vector<int> dealt_;       // workers by class
  std::uint64_t dealt_for_ = 0;  // classes that were active then, a bit each; 0 = deal anew
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeAp(const PolicyOptions& options, const PoolState& pool) {
  static_assert(kMaxClasses <= 64, "a bit for each class");
  return std::unique_ptr<Policy>(std::make_unique<Ap>(options, pool));
}

}  // namespace gopmill
