// SPDX-License-Identifier: Apache-2.0
//
// A recorded trace as a workload.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/trace.h"
#include "scheduler/sim/workload.h"

namespace gopmill::sim {

// The place of a class of a trace among those that were given; 0 where none are.
// kInvalidArgument naming "classes" when it is not among them.
Result<int> ClassOfTrace(const std::string& name, const std::vector<ServiceClass>& classes);

// Open feed at the recorded times, the first arrival at 0; a unit's place in its stream is that of
// its index. Units get the
// class of their name; without `classes` all are of one. Fails as ClassOfTrace does. Times are
// those of TimesOf (trace.h). All this as in a replay.
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
