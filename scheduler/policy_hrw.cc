// SPDX-License-Identifier: Apache-2.0
//
// hrw: every unit of a stream to the worker with the highest random weight for that stream,
//     argmax over p of g(stream, p),   g: hash weight, rendezvous.h
// whatever the queues. The most warmth and the best order there can be; no balance at all. The
// winner is the stream's home, found once per stream. O(workers) per stream, O(1) per unit.
// Source: D. G. Thaler, C. V. Ravishankar, "Using Name-Based Mappings to Increase Hit Rates",
// IEEE/ACM ToN 6(1), 1998.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Hrw final : public Policy {
 public:
  explicit Hrw(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) {
      if (unit.excluded != unit.home.worker) return unit.home.worker;
      return HighestWeight(hash_, unit.home.key, pool, unit.excluded);
    };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHrw(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Hrw>(options));
}

}  // namespace gopmill
