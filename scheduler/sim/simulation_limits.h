// SPDX-License-Identifier: Apache-2.0
//
// What can be simulated: parameters within their ranges, and work that neither overflows the clock
// nor fills the memory, as that of garbled recordings and extreme parameters would. Errors name the
// option and say what is accepted.
//
// Thread-safety: safe (pure functions).
#pragma once

#include "scheduler/sim/simulation.h"

namespace gopmill::sim {

// The parameters, for this machine and these classes.
Status CheckParams(const SimulationParams& params, const Machine& machine,
                   const Workload& workload);

// That the run ends within three years of its clock, and has not too many windows for the share
// error. `ratios`: those that hold.
Status CheckLength(const SimulationParams& params, const CommRatios& ratios,
                   const Workload& workload);

}  // namespace gopmill::sim
