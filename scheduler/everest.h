// SPDX-License-Identifier: Apache-2.0
//
// Everest: workers belong to classes; a class asks for another one when its queue is longer than
// what its workers can do within the class's deadline, and gives one up when it needs fewer:
//
//     Qlim_j   = j * (floor(D / t) - 1)                units that j workers finish in time
//     N_reqd   = smallest j with q <= Qlim_j           guarantee N_min = min(N_reqd, G * N)
//     q > Qlim : the class is eligible for one more worker
//     q = 0    : floor(j - lambda * t) workers are marked: kept in use, but free to be taken;
//                anew before each decision, so that they are more when units stop to come
//     overload : everybody gets N_min, the surplus goes one by one to the largest q - Qlim
//
// D = deadline of the class, t = mean time of its units (averaged on line), lambda = its arrival
// rate over the last t, q = its waiting units, G = its share. The source takes lambda over the time
// that giving a worker away costs, which there is more than t; here it is less, and nearly always
// empty. D < 2t, which GOPs allow and packets never had,
// would make Qlim 0: the floor is dropped then. Everest-AE also lets any class with q > 0 take a
// free worker, at low priority, and releases at once when q = 0: work conserving, but eager to
// switch. A worker that changes hands finishes its unit first. Where classes are more than workers,
// or shares of others leave none for a class, the source gives it one only once its q - Qlim is the
// largest, and clients that wait for their units never let it grow so far. Here such classes take
// turns, unit by unit, on the workers of the classes that have most beyond their share. Source: R.
// Kokku, "ShaRE: Run-time System for High-performance Virtualized Routers", UT Austin, 2005,
// chapter 3, algorithm 1.
//
// Thread-safety: thread-affine to the dispatcher.
#pragma once

#include <utility>
#include <vector>

#include "scheduler/allocation.h"

namespace gopmill {

class Everest final : public Allocation {
 public:
  enum class Form { kPlain, kAe };
  Everest(Form form, const PoolState& pool);

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint now) override;
  // The worker changes hands where the class is not the one that holds it.
  void OnServes(int service_class, WorkerId w, TimePoint now) override;
  [[nodiscard]] bool IsAloneFor(int service_class, WorkerId w) const override;
  WorkerId TakeGiven() override { return std::exchange(given_, {}); }
  void OnWorkersChanged(WorkerId w, const PoolState& pool) override;
  void OnArrived(int service_class, const PoolState& pool, TimePoint now) override;
  void OnFinished(int service_class, WorkerId w, Duration busy, const PoolState& pool,
                  TimePoint now) override;

 private:
  // Arrivals within a window that slides with the clock: those of the window before count as far as
  // it still covers it.
  class ArrivalCount {
   public:
    void Add(TimePoint now, double window_ns) { Advance(now, window_ns), ++current_; }
    double Within(TimePoint now, double window_ns);

   private:
    void Advance(TimePoint now, double window_ns);
    TimePoint begin_;
    double current_ = 0, before_ = 0;
  };
  struct Owner {
    int workers = 0;     // in service
    int marked = 0;      // of these, free to be taken
    double mean_ns = 0;  // t
    bool seen = false;   // a unit of it came
    ArrivalCount arrivals;
    TimePoint last_allocated;
  };

  [[nodiscard]] double Limit(int service_class, int workers, const PoolState& pool) const;
  // q - Qlim with so many workers, and with those it has.
  [[nodiscard]] double Excess(int service_class, int workers, const PoolState& pool) const;
  [[nodiscard]] double Excess(int service_class, const PoolState& pool) const;
  [[nodiscard]] int Guaranteed(int service_class, const PoolState& pool) const;
  void AskForMore(int service_class, const PoolState& pool, TimePoint now);
  [[nodiscard]] int FindVictim(int beneficiary, const PoolState& pool) const;
  [[nodiscard]] int FindOverloadVictim(int beneficiary, const PoolState& pool) const;
  void MarkSpare(const PoolState& pool, TimePoint now);
  void Give(WorkerId w, int service_class, TimePoint now);
  // The class that the worker counts for: its owner, or its next one.
  [[nodiscard]] std::size_t CountsFor(std::size_t worker) const {
    const int next = next_owner_[worker];
    return static_cast<std::size_t>(next >= 0 ? next : owner_of_[worker]);
  }
  [[nodiscard]] int NextWithoutWorker(WorkerId w, int own, const PoolState& pool);
  [[nodiscard]] bool HasMostBeyondShare(int service_class, const PoolState& pool);
  [[nodiscard]] int MostUrgent(WorkerId w, const PoolState& pool, bool eligible_only) const;

  const Form form_;
  std::vector<double> shares_;
  std::vector<int> owner_of_;         // class by worker
  std::vector<int> next_owner_;       // the class a worker goes to after its unit; -1 = it stays
  std::vector<Owner> owners_;         // by class
  std::vector<double> beyond_share_;  // by class; valid within HasMostBeyondShare
  WorkerId given_;                    // was idle when it was given away; -1 = none was
};

}  // namespace gopmill
