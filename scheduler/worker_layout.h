// SPDX-License-Identifier: Apache-2.0
//
// How many workers there are, which PU each one gets, and which of them work when fewer should.
//
// Thread-safety: compatible (pure functions).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/topology.h"

namespace gopmill {

// One worker per PU, but no more than the CPU time that the process may use (`quota_cpus`, rounded
// up): more would be stopped by the kernel in the middle of a unit. At least 1.
int DefaultWorkerCount(const Topology& topology, std::optional<double> quota_cpus);

// For each of `workers` (>= 1) the index of its PU in topology.pus(), not decreasing. With fewer
// workers than PUs every core gets one before any core gets two; with more, the surplus is spread
// over the PUs from the first on.
std::vector<int> LayOutWorkers(const Topology& topology, int workers);

// Which of the workers at `worker_pus` (of LayOutWorkers) are in service when only `wanted` (>= 1;
// more than there are: all) should be: those that so many workers would have been laid out as.
std::vector<bool> InServiceOf(const Topology& topology, std::span<const int> worker_pus,
                              int wanted);

}  // namespace gopmill
