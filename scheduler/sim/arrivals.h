// SPDX-License-Identifier: Apache-2.0
//
// When units arrive, for open feeds. The work is fixed beforehand; arrivals only put times on it,
// at a mean rate that offers the machine a given load.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/sim/workload.h"

namespace gopmill::sim {

enum class ArrivalKind {
  kClosed,     // no times: the closed feed
  kPoisson,    // batches of a random stream at exponential gaps; batch size 1 is plain Poisson
  kGeometric,  // the same with batch sizes drawn from a geometric distribution
  kOnOff,  // every stream has sessions: Poisson while on, silent while off, a quarter of time on
  kLive,   // every stream at its own even pace over the whole time; due one unit later
};

struct Arrivals {
  ArrivalKind kind = ArrivalKind::kClosed;
  int batch = 1;  // units, or their mean
};

// "closed", "poisson", "batch:N", "geometric:N", "onoff", "live"; N is 1 to 1000.
Result<Arrivals> ParseArrivals(const std::string& text);

// Makes the workload one with arrival times. `load` > 0: offered work (all contexts warm) as a
// share of what `workers` can do, from the first arrival to the last.
//
// Deadlines that units have stay as long after the arrival as they were; kLive sets its own, and
// without arrival times (kClosed) there are none.
void SetArrivals(Workload& workload, const Arrivals& arrivals, double load, int workers,
                 std::uint64_t seed);

}  // namespace gopmill::sim
