// SPDX-License-Identifier: Apache-2.0
//
// static: the workers are divided among the classes once; nobody uses another's. With G_c the share
// of class c (its guarantee, the rest by weight) and N workers, class c has those whose middle lies
//     from N (G_1 + .. + G_(c-1)) to N (G_1 + .. + G_c).
// With fewer workers than classes, some share one and are served in turn. Not work
// conserving. O(classes). Source: the static allocation of R. Kokku, "ShaRE: Run-time System for
// High-performance Virtualized Routers", UT Austin, 2005, chapter 3.
#include <algorithm>
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Static final : public Allocation {
 public:
  explicit Static(const PoolState& pool)
      : owner_(static_cast<std::size_t>(pool.worker_count())),
        last_(owner_.size(), 0),
        workers_(pool.classes().size(), 0),
        guest_of_(pool.classes().size(), -1) {
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
      ++workers_[c];
    }
    GiveEveryClassOne(shares);
    LodgeTheRest(shares);
  }

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint /*now*/) override {
    const int classes = static_cast<int>(workers_.size());
    const int last = last_[static_cast<std::size_t>(w.value)];
    for (int i = 1; i <= classes; ++i) {
      const int c = (last + i) % classes;
      if (Serves(w, c) && HasUnitFor(c, w, pool)) return c;
    }
    return -1;
  }

  [[nodiscard]] bool IsAloneFor(int service_class, WorkerId w) const override {
    return workers_[static_cast<std::size_t>(service_class)] < 2 && Serves(w, service_class);
  }

  void OnStarted(int service_class, WorkerId w, TimePoint /*now*/) override {
    last_[static_cast<std::size_t>(w.value)] = service_class;
  }

 private:
  [[nodiscard]] bool Serves(WorkerId w, int c) const {
    return owner_[static_cast<std::size_t>(w.value)] == c ||
           guest_of_[static_cast<std::size_t>(c)] == w.value;
  }

  // A class too light for a worker of its own takes one from the class with most beyond its share,
  // but not its last.
  void GiveEveryClassOne(const std::vector<double>& shares) {
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      if (workers_[c] > 0) continue;
      const int giver = RichestClass(shares);
      if (giver < 0) return;
      *std::ranges::find(owner_, giver) = static_cast<int>(c);
      --workers_[static_cast<std::size_t>(giver)];
      ++workers_[c];
    }
  }

  // -1: none has two.
  [[nodiscard]] int RichestClass(const std::vector<double>& shares) const {
    int richest = -1;
    double most = 0;
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      const double beyond = workers_[c] - shares[c] * static_cast<double>(owner_.size());
      if (workers_[c] < 2 || (richest >= 0 && beyond <= most)) continue;
      richest = static_cast<int>(c);
      most = beyond;
    }
    return richest;
  }

  // Each class that still has none is a guest where the shares of all served come to least.
  void LodgeTheRest(const std::vector<double>& shares) {
    std::vector<double> served;
    for (const int c : owner_) served.push_back(shares[static_cast<std::size_t>(c)]);
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      if (workers_[c] > 0) continue;
      const auto least = std::ranges::min_element(served);
      guest_of_[c] = static_cast<int>(least - served.begin());
      *least += shares[c];
    }
  }

  std::vector<int> owner_;     // class by worker
  std::vector<int> last_;      // class that it ran last, by worker
  std::vector<int> workers_;   // of its own, by class
  std::vector<int> guest_of_;  // worker by class; -1 if it has its own
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeStatic(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Static>(pool));
}

}  // namespace gopmill
