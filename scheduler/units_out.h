// SPDX-License-Identifier: Apache-2.0
//
// How many units of a file's stream are with the scheduler at once: one for each worker, and what a
// worker goes on with. More would be in the way of whoever comes next. The server and the simulator
// have it from here.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>

namespace gopmill {

inline constexpr std::int64_t kUnitsToGoOnWith = 1;

constexpr std::int64_t UnitsOut(int workers) { return workers + kUnitsToGoOnWith; }

}  // namespace gopmill
