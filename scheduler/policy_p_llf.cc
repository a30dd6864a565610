// SPDX-License-Identifier: Apache-2.0
//
// p-llf: prediction-based least load first: the worker on which the unit is expected to be finished
// first, that is the smallest
//     time until the worker is free + run time there + cost of opening the contexts if it is cold
// with all three learned on line (context_table.h); bytes queued decide until something was
// learned. O(workers). Source: the scheduler of that name by J. Guo, as summarised in D. Guo,
// "Multicore Scheduling for Network Applications Based on Highest Random Weight", UC Riverside,
// 2010, related work; the term for cold contexts is ours. There an idle worker is always the least
// loaded one. Here a worker with units may be expected to be the first, being warm or faster, and
// have no room: then the best of the idle ones is picked, so that none stays idle while the head of
// a line waits.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class PLlf final : public Policy {
 public:
  explicit PLlf(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint now,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Choose(unit, pool, now); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  static WorkerId Choose(const Unit& unit, const PoolState& pool, TimePoint now) {
    const WorkerId best = EarliestFor(unit, pool, now, false);
    if (pool.LongestIdle().value < 0 || best.value < 0 || pool.has_room(best)) return best;
    const WorkerId idle = EarliestFor(unit, pool, now, true);
    return idle.value >= 0 ? idle : best;
  }

  static WorkerId EarliestFor(const Unit& unit, const PoolState& pool, TimePoint now,
                              bool idle_only) {
    WorkerId best;
    double best_time = 0;
    std::uint64_t best_load = 0;
    for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
      const WorkerId w{i};
      if (!pool.available(w) || w == unit.excluded || (idle_only && !pool.idle(w))) continue;
      const double time = pool.time_until_free(w, now) + pool.expected_run(unit, w);
      const std::uint64_t load = pool.loads()[static_cast<std::size_t>(i)];
      if (best.value >= 0 && (time > best_time || (time == best_time && load >= best_load))) {
        continue;
      }
      best = w;
      best_time = time;
      best_load = load;
    }
    return best;
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakePLlf(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<PLlf>(options));
}

}  // namespace gopmill
