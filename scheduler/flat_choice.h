// SPDX-License-Identifier: Apache-2.0
//
// The adaptive choice over all workers at once: the one with the highest  w_p * g(stream, p),
//     w_p = Q'_min / Q'_p,   Q'_p = c[home][p] * Q_p,   w_p = 1 when Q_p = 0,
// shared by ahrw (all c = 1) and ca-ahrw. O(workers) per decision.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010.
//
// Thread-safety: compatible (holds scratch space).
#pragma once

#include <vector>

#include "scheduler/pool_state.h"

namespace gopmill {

class FlatChoice {
 public:
  // `ratios`: c, row-major by home and worker; empty = 1 everywhere.
  FlatChoice(const PolicyOptions& options, std::vector<double> ratios, int workers);

  // The worker for the unit, which is not the one it is excluded from; -1 if nobody is left.
  [[nodiscard]] WorkerId Choose(const Unit& unit, const PoolState& pool);

 private:
  const PolicyOptions options_;
  const std::vector<double> ratios_;
  std::vector<double> weighted_;  // scratch
};

}  // namespace gopmill
