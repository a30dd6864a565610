// SPDX-License-Identifier: Apache-2.0
//
// A recorded trace as a workload.
//
// Thread-safety: safe (pure function).
#pragma once

#include "scheduler/sim/trace.h"
#include "scheduler/sim/workload.h"

namespace gopmill::sim {

// Open feed at the recorded times. Units get the class of their name; without `classes` all are of
// one, as in a replay. kInvalidArgument naming "classes" when the trace has one that is not among
// them. Where a unit was seen only cold or only warm, the other time
// follows from the median opening cost of the units of the same trace that tell both (0 if none
// do); a warm time is never taken below a tenth of the cold one.
Result<Workload> FromTrace(const RecordedTrace& trace,
                           const std::vector<ServiceClass>& classes = {});

// One recording stands for many like it: the same arrivals on a machine as many times slower, and
// each unit's times (warm and opening alike) multiplied by a number drawn evenly from 1 - noise to
// 1 + noise.
struct TimeVariation {
  double noise = 0;  // 0 to below 1
  double slow_down = 1;
  std::uint64_t seed = 1;
};
void VaryTimes(Workload& workload, const TimeVariation& variation);

}  // namespace gopmill::sim
