// SPDX-License-Identifier: Apache-2.0
//
// p2c: two different workers a and b are drawn at random; the one with the shorter queue takes it:
//     worker of a unit = b if Q_b < Q_a, else a
// with Q_p the bytes that p holds and those of the heads that wait for it (no other may take them).
// The draws are hashes of the unit, so that a run can be repeated. No homes, no warmth. O(1).
// Source: M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE TPDS
// 12(10), 2001.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

// Where hardly any worker is left that may run the unit, it goes to the only one found, or to the
// first there is. With two of two, one unit in 2^31 does.
constexpr std::uint64_t kMaxDraws = 32;

class P2c final : public Policy {
 public:
  explicit P2c(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }

 private:
  // The first two different workers of the unit's sequence of draws that may run it. So what one
  // out of service would have got spreads over all others, and no other draw changes.
  static WorkerId Choose(const Unit& unit, const PoolState& pool) {
    WorkerId first;
    for (std::uint64_t draw = 0; draw < kMaxDraws; ++draw) {
      const WorkerId w = Drawn(unit.place.sequence, draw, pool);
      if (!pool.available(w) || w == unit.excluded || w == first) continue;
      if (first.value >= 0) {
        return pool.load_with_held(w) < pool.load_with_held(first) ? w : first;
      }
      first = w;
    }
    return first.value >= 0 ? first : AnyFor(unit, pool);
  }

  static WorkerId Drawn(std::uint64_t unit, std::uint64_t draw, const PoolState& pool) {
    const auto workers = static_cast<std::uint64_t>(pool.worker_count());
    return WorkerId{static_cast<std::int32_t>(Mix64(kMaxDraws * unit + draw) % workers)};
  }

  static WorkerId AnyFor(const Unit& unit, const PoolState& pool) {
    for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
      if (pool.available(WorkerId{i}) && WorkerId{i} != unit.excluded) return WorkerId{i};
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeP2c(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<P2c>(options));
}

}  // namespace gopmill
