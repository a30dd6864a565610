// SPDX-License-Identifier: Apache-2.0
//
// How long units waited although a worker had nothing to do: what a work-conserving policy avoids.
//
// A unit waits from the moment it is eligible until the worker it was given to is free for it.
// Eligible it is once it was submitted, and the one submitted before it in its stream assigned:
// only heads of lines can be. (Lines go by the indices: where a unit came late and went first, the
// time for which it headed the line counts as that of the one it overtook.) A worker is idle from
// the end of a unit until it is free and has been given another one. An event is one stretch of
// time during which a unit waits and some worker is idle all along; stretches of several units that
// overlap and are too long each are one event. What the worker then takes to begin is neither
// (`wake_up`): it waits for its CPU, and no decision could change that.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace gopmill::bench {

// Longer events are the policy's fault; shorter ones are threads telling each other.
inline constexpr Duration kIdleWaitingLimit = std::chrono::milliseconds(1);

struct WorkedUnit {
  int worker = 0;
  TimePoint eligible, assigned, started, finished;
};

struct IdleWaiting {
  Duration total{};           // during which some unit waited and some worker was idle
  Duration longest{};         // stretch of one unit
  std::int64_t too_long = 0;  // events of stretches above kIdleWaitingLimit
  Duration too_long_total{};  // their sum, no moment twice: at most `total`
  Duration wake_up{};         // sum over the units
  Duration wake_up_longest{};
};

// `units` ran between `begin` and `end` on `workers` workers, each once.
IdleWaiting FindIdleWaiting(std::vector<WorkedUnit> units, int workers, TimePoint begin,
                            TimePoint end);

}  // namespace gopmill::bench
