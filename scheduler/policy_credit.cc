// SPDX-License-Identifier: Apache-2.0
//
// credit: every class earns credit in proportion to its share of the machine and pays for the time
// of its runs; a free worker serves the class with most credit for its share. With G_c the share of
// class c, N workers and dt the time since the reckoning before, that is
//     argmax over c with units of credit_c / G_c,   credit_c += N * G_c * dt - time of its runs
// At the end of each period the credit that classes without units have left is stolen: each
// backlogged class gets
//     idle credit / (2 * backlogged classes)
// which those without units lose: half of what they had. Nobody keeps more than one period's
// earnings, nor owes more than all workers' time in a period or, if that is longer, in the longest
// run of late. Work conserving.
// Source: credit stealing as in G. Liao, "Accelerating I/O Processing in Server Architectures", UC
// Riverside, 2011.
//
// Where a run takes longer than a period (there packets, here units) so does the next reckoning.
// Each class earns for all of that time, as runs are paid for in full; and what a class without
// units has beyond one period's earnings is stolen too, as period by period it would have been.
// The same is true of one that had none at some decision since the reckoning before, or at that:
// what it could not use it has lent. Otherwise who works alone would run into debt, and wait for as
// long when others come. Decisions do not see all of it (a class that has a unit at each of them
// can still use little), so debts are bounded too, which the source does not say. All workers may
// run the longest units at once, whose they may be, and are paid for at their ends: a tighter bound
// would forgive debts of classes that wait all the time, and so change their shares (tested). What
// is beyond either bound nobody gets.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Credit final : public Allocation {
 public:
  static constexpr double kPeriodNs = 100e6;
  // A longest run is forgotten in eight times its length.
  static constexpr double kForgotten = 1.0 / 8;

  explicit Credit(const PoolState& pool)
      : shares_(pool.classes().size()), credit_(pool.classes().size(), 0) {
    FindShares(pool.classes(), shares_);
  }

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint now) override {
    Earn(pool, now);
    int best = -1;
    for (int c = 0; c < static_cast<int>(credit_.size()); ++c) {
      if (best >= 0 && Left(c) <= Left(best)) continue;
      if (HasUnitFor(c, w, pool)) best = c;
    }
    return best;
  }

  void OnFinished(int service_class, WorkerId /*w*/, Duration busy, const PoolState& /*pool*/,
                  TimePoint /*now*/) override {
    const auto c = static_cast<std::size_t>(service_class);
    const auto took = static_cast<double>(busy.count());
    credit_[c] -= took;
    longest_run_ = std::max(took, longest_run_);
  }

 private:
  // In periods' earnings, so that light classes are not last for ever. What the guarantees of
  // others leave nothing of is.
  [[nodiscard]] double Left(int c) const {
    const auto i = static_cast<std::size_t>(c);
    return shares_[i] > 0 ? credit_[i] / shares_[i] : -std::numeric_limits<double>::infinity();
  }

  void Earn(const PoolState& pool, TimePoint now) {
    const std::uint64_t waiting = Waiting(pool);
    waited_ &= waiting;
    const auto passed = static_cast<double>((now - last_).count());
    if (passed < kPeriodNs) return;
    last_ = now;
    const double income = passed * pool.available_workers();
    for (std::size_t c = 0; c < credit_.size(); ++c) credit_[c] += income * shares_[c];
    const double period_income = kPeriodNs * pool.available_workers();
    Steal(waiting, period_income);
    longest_run_ = std::max(0.0, longest_run_ - kForgotten * passed);
    const double most_owed = std::max(kPeriodNs, longest_run_) * pool.available_workers();
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      credit_[c] = std::clamp(credit_[c], -most_owed, period_income * shares_[c]);
    }
  }

  void Steal(std::uint64_t waiting, double period_income) {
    const std::uint64_t takers = Takers(waiting);
    waited_ = waiting;
    double stolen = 0;
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      if (Has(takers, c) || credit_[c] <= 0) continue;
      const double kept =
          std::min(Has(waiting, c) ? credit_[c] : credit_[c] / 2, period_income * shares_[c]);
      stolen += credit_[c] - kept;
      credit_[c] = kept;
    }
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      if (Has(takers, c)) credit_[c] += stolen / std::popcount(takers);
    }
  }

  // The backlogged ones: those that have units now and had ever since the last time. If there is
  // none, who has worked with what others did not use; else whoever has units now.
  [[nodiscard]] std::uint64_t Takers(std::uint64_t waiting) const {
    if ((waiting & waited_) != 0) return waiting & waited_;
    std::uint64_t owing = 0;
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      if (credit_[c] < 0 && !Has(waiting, c)) owing |= std::uint64_t{1} << c;
    }
    return owing != 0 ? owing : waiting;
  }

  static std::uint64_t Waiting(const PoolState& pool) {
    std::uint64_t waiting = 0;
    for (std::size_t c = 0; c < pool.classes().size(); ++c) {
      const bool waits = pool.class_state(static_cast<int>(c)).waiting_units > 0;
      waiting |= static_cast<std::uint64_t>(waits) << c;
    }
    return waiting;
  }

  static bool Has(std::uint64_t set, std::size_t c) { return (set >> c & 1U) != 0; }

  std::vector<double> shares_;
  std::vector<double> credit_;  // ns of worker time, by class
  double longest_run_ = 0;      // of late, of any class
  // Bit c: class c had units at the last reckoning and at all decisions since.
  std::uint64_t waited_ = 0;
  TimePoint last_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeCredit(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Credit>(pool));
}

}  // namespace gopmill
