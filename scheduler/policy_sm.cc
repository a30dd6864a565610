// SPDX-License-Identifier: Apache-2.0
//
// sm (stream-based mapping), fixed at arrival:
//     worker of a unit = number of its stream mod N
// Spreads stream counts evenly, which hrw does only on average; otherwise the same virtues and
// faults. When that worker is out of service (or failed the unit), the next one that is in service
// stands in. O(1).
// Source: stream-based mapping as compared in D. Guo, "Multicore Scheduling for Network
// Applications Based on Highest Random Weight", UC Riverside, 2010.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class StreamMapping final : public Policy {
 public:
  explicit StreamMapping(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Mapped(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }

 private:
  static WorkerId Mapped(const Unit& unit, const PoolState& pool) {
    const auto workers = static_cast<std::uint64_t>(pool.worker_count());
    for (std::uint64_t skipped = 0; skipped < workers; ++skipped) {
      const std::uint64_t index = (unit.spec.stream_number % workers + skipped) % workers;
      const WorkerId w{static_cast<std::int32_t>(index)};
      if (pool.available(w) && w != unit.excluded) return w;
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeSm(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<StreamMapping>(options));
}

}  // namespace gopmill
