// SPDX-License-Identifier: Apache-2.0
//
// static: the workers are divided among the classes once; nobody uses another's. With G_c the share
// of class c (its guarantee, the rest by weight) and N workers, class c has those whose middle lies
//     from N (G_1 + .. + G_(c-1)) to N (G_1 + .. + G_c).
// Not work conserving. O(classes). Source: the static allocation of R. Kokku, "ShaRE: Run-time
// System for High-performance Virtualized Routers", UT Austin, 2005, chapter 3.
#include <algorithm>
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Static final : public Allocation {
 public:
  explicit Static(const PoolState& pool) : owner_(static_cast<std::size_t>(pool.worker_count())) {
    std::vector<double> shares(pool.classes().size());
    FindShares(pool.classes(), shares);
    const auto workers = static_cast<double>(owner_.size());
    std::size_t c = 0;
    double end = shares[0] * workers;
    for (std::size_t w = 0; w < owner_.size(); ++w) {
      // A worker belongs to the class that has its middle.
      while (static_cast<double>(w) + 0.5 > end && c + 1 < shares.size()) {
        end += shares[++c] * workers;
      }
      owner_[w] = static_cast<int>(c);
    }
    GiveEveryClassOne(static_cast<int>(shares.size()));
  }

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint /*now*/) override {
    const int c = owner_[static_cast<std::size_t>(w.value)];
    if (HasUnitFor(c, w, pool)) return c;
    // With fewer workers than classes somebody has to serve the rest.
    const int classes = static_cast<int>(pool.classes().size());
    for (int other = static_cast<int>(owner_.size()); other < classes; ++other) {
      if (other % static_cast<int>(owner_.size()) == w.value && HasUnitFor(other, w, pool)) {
        return other;
      }
    }
    return -1;
  }

 private:
  // A class too light for a worker of its own takes one from the class with most.
  void GiveEveryClassOne(int classes) {
    const auto count = [&](int c) { return std::count(owner_.begin(), owner_.end(), c); };
    for (int c = 0; c < std::min(classes, static_cast<int>(owner_.size())); ++c) {
      if (count(c) > 0) continue;
      *std::max_element(owner_.begin(), owner_.end(),
                        [&](int a, int b) { return count(a) < count(b); }) = c;
    }
  }

  std::vector<int> owner_;  // class by worker
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeStatic(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Static>(pool));
}

}  // namespace gopmill
