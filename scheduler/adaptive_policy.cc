// SPDX-License-Identifier: Apache-2.0
#include "scheduler/adaptive_policy.h"

#include <utility>

#include "scheduler/early_binding.h"
#include "scheduler/flat_choice.h"

namespace gopmill {
namespace {

class FlatPolicy final : public Policy {
 public:
  FlatPolicy(const PolicyOptions& options, std::vector<double> ratios, int workers)
      : Policy(options.hash), choice_(options, std::move(ratios), workers) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return choice_.Choose(unit, pool); };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

 private:
  FlatChoice choice_;
};

class TreePolicy final : public Policy {
 public:
  TreePolicy(const PolicyOptions& options, const LoadTree& tree, Distances distances)
      : Policy(options.hash), choice_(options, tree, distances) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) {
      return choice_.Choose(pool.tree(), unit.home, unit.excluded);
    };
    BindEarly(event, pool, Rebinding::kOnEveryOffer, pick, actions);
  }

  StreamHome Home(StreamId stream, const PoolState& pool) override {
    return choice_.Home(stream, pool);
  }

 private:
  TreeChoice choice_;
};

}  // namespace

std::unique_ptr<Policy> MakeFlatPolicy(const PolicyOptions& options, const PoolState& pool,
                                       std::vector<double> ratios) {
  return std::make_unique<FlatPolicy>(options, std::move(ratios), pool.worker_count());
}

std::unique_ptr<Policy> MakeTreePolicy(const PolicyOptions& options, const PoolState& pool,
                                       Distances distances) {
  return std::make_unique<TreePolicy>(options, pool.tree(), distances);
}

}  // namespace gopmill
