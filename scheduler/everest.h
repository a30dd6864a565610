// SPDX-License-Identifier: Apache-2.0
//
// Everest: workers belong to classes; a class asks for another one when its queue is longer than
// what its workers can do within the class's deadline, and gives one up when it needs fewer:
//
//     Qlim_j   = j * (floor(D / t) - 1)                units that j workers finish in time
//     N_reqd   = smallest j with q <= Qlim_j           guarantee N_min = min(N_reqd, G * N)
//     q > Qlim : the class is eligible for one more worker
//     q = 0    : floor(j - lambda * t) workers are marked: kept in use, but free to be taken
//     overload : everybody gets N_min, the surplus goes one by one to the largest q - Qlim
//
// D = deadline of the class, t = mean time of its units, lambda = its arrival rate (both averaged
// on line), q = its waiting units, G = its share. D < 2t, which GOPs allow and packets never had,
// would make Qlim 0: the floor is dropped then. Everest-AE also lets any class with q > 0 take a
// free worker, at low priority, and releases at once when q = 0: work conserving, but eager to
// switch. A worker that changes hands finishes its unit first. Source: R. Kokku, "ShaRE: Run-time
// System for High-performance Virtualized Routers", UT Austin, 2005, chapter 3, algorithm 1.
//
// Thread-safety: thread-affine to the dispatcher.
#pragma once

#include <vector>

#include "scheduler/allocation.h"

namespace gopmill {

class Everest final : public Allocation {
 public:
  enum class Form { kPlain, kAe };
  Everest(Form form, const PoolState& pool);

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint now) override;
  void OnArrived(int service_class, const PoolState& pool, TimePoint now) override;
  void OnFinished(int service_class, WorkerId w, Duration busy, const PoolState& pool,
                  TimePoint now) override;

 private:
  struct Owner {
    int workers = 0;
    int marked = 0;      // of these, free to be taken
    double mean_ns = 0;  // t
    double gap_ns = 0;   // 1 / lambda
    TimePoint last_arrival;
    TimePoint last_allocated;
  };

  [[nodiscard]] double Limit(int service_class, int workers, const PoolState& pool) const;
  [[nodiscard]] double Excess(int service_class, const PoolState& pool) const;
  [[nodiscard]] int Guaranteed(int service_class, const PoolState& pool) const;
  void AskForMore(int service_class, const PoolState& pool, TimePoint now);
  [[nodiscard]] int FindVictim(int beneficiary, const PoolState& pool) const;
  void MarkSpare(int service_class, const PoolState& pool);
  void Give(WorkerId w, int service_class, TimePoint now);
  [[nodiscard]] int MostUrgent(WorkerId w, const PoolState& pool, bool eligible_only) const;

  const Form form_;
  std::vector<double> shares_;
  std::vector<int> owner_of_;    // class by worker
  std::vector<int> next_owner_;  // the class a worker goes to after its unit; -1 = it stays
  std::vector<Owner> owners_;    // by class
};

}  // namespace gopmill
