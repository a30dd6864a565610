// SPDX-License-Identifier: Apache-2.0
//
// p2c: two workers drawn at random, the one with the shorter queue takes the unit. The draw is a
// hash of the unit, so that a run can be repeated. No homes, no warmth. O(1).
// Source: M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE TPDS
// 12(10), 2001.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class P2c final : public Policy {
 public:
  explicit P2c(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }

 private:
  static WorkerId Choose(const Unit& unit, const PoolState& pool) {
    const auto usable = [&](WorkerId w) { return pool.available(w) && w != unit.excluded; };
    const WorkerId first = Draw(unit.sequence, 0, pool, usable);
    const WorkerId second = Draw(unit.sequence, 1, pool, usable);
    if (first.value < 0) return first;
    const auto load = [&](WorkerId w) { return pool.loads()[static_cast<std::size_t>(w.value)]; };
    return load(second) < load(first) ? second : first;
  }

  // A worker that may be used: the drawn one or the next behind it.
  template <class Usable>
  static WorkerId Draw(std::uint64_t unit, std::uint64_t number, const PoolState& pool,
                       Usable usable) {
    const auto workers = static_cast<std::uint64_t>(pool.worker_count());
    const std::uint64_t start = Mix64(2 * unit + number) % workers;
    for (std::uint64_t step = 0; step < workers; ++step) {
      const WorkerId w{static_cast<std::int32_t>((start + step) % workers)};
      if (usable(w)) return w;
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeP2c(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<P2c>(options));
}

}  // namespace gopmill
