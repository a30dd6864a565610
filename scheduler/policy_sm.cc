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
#include "scheduler/worker_by_number.h"

namespace gopmill {
namespace {

class StreamMapping final : public Policy {
 public:
  explicit StreamMapping(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return WorkerByNumber(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeSm(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<StreamMapping>(options));
}

}  // namespace gopmill
