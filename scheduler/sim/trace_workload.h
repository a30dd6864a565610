// SPDX-License-Identifier: Apache-2.0
//
// A recorded trace as a workload.
//
// Thread-safety: safe (pure function).
#pragma once

#include "scheduler/sim/trace.h"
#include "scheduler/sim/workload.h"

namespace gopmill::sim {

// Open feed at the recorded times; a unit's place in its stream is that of its index. Units get the
// class of their name; without `classes` all are of one, as in a replay. kInvalidArgument naming
// "classes" when the trace has one that is not among them. Times are those of TimesOf (trace.h), as
// in a replay.
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
