// SPDX-License-Identifier: Apache-2.0
//
// credit: every class earns credit in proportion to its share of the machine and pays for the time
// of its runs; a free worker serves the class with most credit. At the end of each period the
// credit that classes without units have left is stolen: each backlogged class gets
//     idle credit / (2 * backlogged classes)
// which those without units lose: half of what they had. Nobody keeps more than one period's
// earnings. Work conserving.
// Source: credit stealing as in G. Liao, "Accelerating I/O Processing in Server Architectures", UC
// Riverside, 2011.
#include <algorithm>
#include <limits>
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Credit final : public Allocation {
 public:
  static constexpr double kPeriodNs = 100e6;

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
    credit_[static_cast<std::size_t>(service_class)] -= static_cast<double>(busy.count());
  }

 private:
  // In periods' earnings, so that light classes are not last for ever. What the guarantees of
  // others leave nothing of is.
  [[nodiscard]] double Left(int c) const {
    const auto i = static_cast<std::size_t>(c);
    return shares_[i] > 0 ? credit_[i] / shares_[i] : -std::numeric_limits<double>::infinity();
  }

  void Earn(const PoolState& pool, TimePoint now) {
    const auto passed = static_cast<double>((now - last_).count());
    if (passed < kPeriodNs) return;
    last_ = now;
    const double income = std::min(passed, 10 * kPeriodNs) * pool.available_workers();
    for (std::size_t c = 0; c < credit_.size(); ++c) credit_[c] += income * shares_[c];
    Steal(pool);
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      credit_[c] = std::min(credit_[c], income * shares_[c]);
    }
  }

  void Steal(const PoolState& pool) {
    double idle = 0;
    int backlogged = 0;
    const auto waits = [&](std::size_t c) {
      return pool.class_state(static_cast<int>(c)).waiting_units > 0;
    };
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      if (waits(c)) {
        ++backlogged;
      } else {
        idle += std::max(0.0, credit_[c]);
      }
    }
    if (backlogged == 0) return;
    for (std::size_t c = 0; c < credit_.size(); ++c) {
      if (waits(c)) {
        credit_[c] += idle / (2 * backlogged);
      } else if (credit_[c] > 0) {
        credit_[c] /= 2;
      }
    }
  }

  std::vector<double> shares_;
  std::vector<double> credit_;  // ns of worker time, by class
  TimePoint last_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeCredit(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Credit>(pool));
}

}  // namespace gopmill
