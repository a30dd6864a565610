// SPDX-License-Identifier: Apache-2.0
//
// quantum: each worker serves a class for a quantum of units, then goes on to the next class that
// has units. With q_c the waiting units of class c and C classes, the next unit of a worker is of
//     the class c of its last one, until it had kQuantumUnits of it in a row or q_c = 0,
//     then the first of c + 1, c + 2, .. c + C (mod C) with q > 0
// Work conserving; shares are equal in units, whatever the weights. O(classes).
// Source: the quantum-based scheduler of R. Kokku, UT Austin, 2005, chapter 3 (there a quantum of
// time).
#include <vector>

#include "scheduler/allocation.h"
#include "scheduler/policy_registry.h"

namespace gopmill {
namespace {

class Quantum final : public Allocation {
 public:
  static constexpr int kQuantumUnits = 4;
  explicit Quantum(const PoolState& pool) : turns_(static_cast<std::size_t>(pool.worker_count())) {}

  int ClassFor(WorkerId w, const PoolState& pool, TimePoint /*now*/) override {
    const Turn& turn = turns_[static_cast<std::size_t>(w.value)];
    if (turn.left > 0 && HasUnitFor(turn.service_class, w, pool)) return turn.service_class;
    const int classes = static_cast<int>(pool.classes().size());
    for (int step = 1; step <= classes; ++step) {
      const int c = (turn.service_class + step) % classes;
      if (HasUnitFor(c, w, pool)) return c;
    }
    return -1;
  }

  void OnStarted(int service_class, WorkerId w, TimePoint /*now*/) override {
    Turn& turn = turns_[static_cast<std::size_t>(w.value)];
    if (turn.service_class != service_class || turn.left == 0)
      turn = {service_class, kQuantumUnits};
    --turn.left;
  }

 private:
  struct Turn {
    int service_class = 0;
    int left = 0;
  };
  std::vector<Turn> turns_;  // by worker
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeQuantum(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Quantum>(pool));
}

}  // namespace gopmill
