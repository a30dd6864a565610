// SPDX-License-Identifier: Apache-2.0
//
// hybrid: a shared queue that prefers warmth where it costs nothing: an arriving unit u goes to an
// idle worker that still holds its stream's codec contexts if there is one, and a free worker w
// takes the oldest of the first few units it is warm for, else the oldest of all. With C_p the
// contexts of the last k streams that p served (k: PolicyOptions::contexts_per_worker), and m =
// kMaxOffers:
//     worker = first of the m longest idle p with context(u) in C_p,   else the longest idle one
//     unit   = oldest of the m oldest heads u with context(u) in C_w,  else the oldest head
// The oldest is passed over so kMaxPassed times in a row at most (passed_over.h; not in the
// source). O(1): at most kMaxOffers candidates are looked at.
// Source: the hybrid of locking and independent stacks in J. D. Salehi, J. F. Kurose, D. Towsley,
// UMass CMPSCI TR 94-75, 1994, with codec contexts in the place of protocol stacks.
#include "scheduler/early_binding.h"
#include "scheduler/late_binding.h"
#include "scheduler/passed_over.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Hybrid final : public Policy {
 public:
  explicit Hybrid(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto worker = [&](UnitRef ref) { return IdleWorkerFor(ref, pool); };
    const auto unit = [&](WorkerId w) { return HeadFor(w, pool); };
    BindLate(event, pool, worker, unit, actions);
  }

 private:
  static WorkerId IdleWorkerFor(UnitRef ref, const PoolState& pool) {
    WorkerId first;
    int looked_at = 0;
    for (WorkerId w = pool.LongestIdle(); w.value >= 0 && looked_at < kMaxOffers;
         w = pool.NextIdle(w), ++looked_at) {
      if (w == pool.unit(ref).excluded) continue;
      if (pool.warm(ref, w)) return w;
      if (first.value < 0) first = w;
    }
    return first;
  }

  UnitRef HeadFor(WorkerId w, const PoolState& pool) {
    const UnitRef oldest = OldestHeadFor(w, pool);
    int looked_at = 0;
    for (UnitRef ref = oldest; ref.valid() && looked_at < kMaxOffers;
         ref = pool.NextHead(ref), ++looked_at) {
      if (pool.unit(ref).excluded == w || !pool.warm(ref, w)) continue;
      return ref == oldest || passed_.Again(pool.unit(oldest).spec.unit) ? ref : oldest;
    }
    return oldest;
  }

  PassedOver passed_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHybrid(const PolicyOptions& options,
                                           const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Hybrid>(options));
}

}  // namespace gopmill
