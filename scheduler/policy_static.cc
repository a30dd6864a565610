// SPDX-License-Identifier: Apache-2.0
//
// static: the workers are divided among the classes; nobody uses another's. With G_c the share
// of class c (its guarantee, the rest by weight) and N workers, class c has those whose middle lies
//     from N (G_1 + .. + G_(c-1)) to N (G_1 + .. + G_c).
// When a worker leaves or comes back, those in service are divided anew.
// With fewer workers than classes, some share one and are served in turn. Not work
// conserving. O(classes); O(workers + classes^2) when a worker leaves or comes back. Source: the
// static allocation of R. Kokku, "ShaRE: Run-time System for High-performance Virtualized Routers",
// UT Austin, 2005, chapter 3.
#include <algorithm>
#include <limits>
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Static final : public Allocation {
 public:
  explicit Static(const PoolState& pool)
      : shares_(pool.classes().size()),
        owner_(static_cast<std::size_t>(pool.worker_count())),
        last_(owner_.size(), 0),
        served_(owner_.size()),
        workers_(shares_.size()),
        guest_of_(shares_.size()) {
    FindShares(pool.classes(), shares_);
    Divide(pool);
  }

  void OnWorkersChanged(WorkerId /*w*/, const PoolState& pool) override { Divide(pool); }

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

  void Divide(const PoolState& pool) {
    std::ranges::fill(owner_, -1);
    std::ranges::fill(workers_, 0);
    std::ranges::fill(guest_of_, -1);
    const auto workers = static_cast<double>(pool.available_workers());
    std::size_t c = 0;
    double middle = 0.5;
    double end = shares_[0] * workers;
    for (std::size_t w = 0; w < owner_.size(); ++w) {
      if (!pool.available(WorkerId{static_cast<std::int32_t>(w)})) continue;
      // A worker belongs to the class that has its middle.
      while (middle > end && c + 1 < shares_.size()) end += shares_[++c] * workers;
      owner_[w] = static_cast<int>(c);
      ++workers_[c];
      middle += 1;
    }
    GiveEveryClassOne(workers);
    if (workers > 0) LodgeTheRest();
  }

  // A class too light for a worker of its own takes one from the class with most beyond its share,
  // but not its last.
  void GiveEveryClassOne(double workers) {
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      if (workers_[c] > 0) continue;
      const int giver = RichestClass(workers);
      if (giver < 0) return;
      *std::ranges::find(owner_, giver) = static_cast<int>(c);
      --workers_[static_cast<std::size_t>(giver)];
      ++workers_[c];
    }
  }

  // -1: none has two.
  [[nodiscard]] int RichestClass(double workers) const {
    int richest = -1;
    double most = 0;
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      const double beyond = workers_[c] - shares_[c] * workers;
      if (workers_[c] < 2 || (richest >= 0 && beyond <= most)) continue;
      richest = static_cast<int>(c);
      most = beyond;
    }
    return richest;
  }

  // Each class that still has none is a guest where the shares of all served come to least.
  void LodgeTheRest() {
    for (std::size_t w = 0; w < owner_.size(); ++w) {
      served_[w] = owner_[w] >= 0 ? shares_[static_cast<std::size_t>(owner_[w])]
                                  : std::numeric_limits<double>::infinity();
    }
    for (std::size_t c = 0; c < workers_.size(); ++c) {
      if (workers_[c] > 0) continue;
      const auto least = std::ranges::min_element(served_);
      guest_of_[c] = static_cast<int>(least - served_.begin());
      *least += shares_[c];
    }
  }

  std::vector<double> shares_;  // by class
  std::vector<int> owner_;      // class by worker; -1 = out of service
  std::vector<int> last_;       // class that it ran last, by worker
  std::vector<double> served_;  // shares by worker; valid within LodgeTheRest
  std::vector<int> workers_;    // of its own, by class
  std::vector<int> guest_of_;   // worker by class; -1 if it has its own
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeStatic(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Static>(pool));
}

}  // namespace gopmill
