// SPDX-License-Identifier: Apache-2.0
//
// cohort: a worker stays with its class until nothing of it waits, then goes to the class with most
// waiting. With q_c the waiting units and B_c the waiting bytes of class c, worker w serves
//     the class of its last unit while q > 0 there,   else argmax over c with q_c > 0 of B_c
// The fewest switches and the warmest caches; no shares at all. Work conserving. O(classes).
// Source: J. Larus, M. Parkes, "Using Cohort Scheduling to Enhance Server Performance", USENIX
// 2002, as compared by R. Kokku, UT Austin, 2005, chapter 3.
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Cohort final : public Allocation {
 public:
  explicit Cohort(const PoolState& pool)
      : class_of_(static_cast<std::size_t>(pool.worker_count()), -1) {}

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint /*now*/) override {
    const int current = class_of_[static_cast<std::size_t>(w.value)];
    if (current >= 0 && HasUnitFor(current, w, pool)) return current;
    int best = -1;
    std::uint64_t most = 0;
    for (int c = 0; c < static_cast<int>(pool.classes().size()); ++c) {
      const std::uint64_t waiting = pool.class_state(c).waiting_bytes;
      if (waiting <= most || !HasUnitFor(c, w, pool)) continue;
      best = c;
      most = waiting;
    }
    return best;
  }

  void OnStarted(int service_class, WorkerId w, TimePoint /*now*/) override {
    class_of_[static_cast<std::size_t>(w.value)] = service_class;
  }

 private:
  std::vector<int> class_of_;  // by worker
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeCohort(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Cohort>(pool));
}

}  // namespace gopmill
