// SPDX-License-Identifier: Apache-2.0
//
// rr: units to the workers in turn, in the order in which they become heads of their lines:
//     worker of the k-th unit = k mod N,   workers that are not in service skipped.
// Even in units, not in bytes; no warmth; the worst order of all. A baseline. O(1).
// Source: round robin as compared in D. Guo, "Multicore Scheduling for Network Applications Based
// on Highest Random Weight", UC Riverside, 2010.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class RoundRobin final : public Policy {
 public:
  explicit RoundRobin(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Next(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }

 private:
  WorkerId Next(const Unit& unit, const PoolState& pool) {
    for (int skipped = 0; skipped < pool.worker_count(); ++skipped) {
      const WorkerId w{next_};
      next_ = (next_ + 1) % pool.worker_count();
      if (pool.available(w) && w != unit.excluded) return w;
    }
    return {};
  }

  std::int32_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeRr(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<RoundRobin>(options));
}

}  // namespace gopmill
