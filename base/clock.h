// SPDX-License-Identifier: Apache-2.0
//
// Time as the engine sees it. Policies and state machines never read a clock: they are given `now`.
// Only the mechanism around them (dispatcher thread, workers, sessions, HTTP) reads one.
//
// Thread-safety: safe.
#pragma once

#include <chrono>
#include <stop_token>

namespace gopmill {

using Duration = std::chrono::nanoseconds;
// A point on a monotonic clock (real or virtual); only differences mean anything.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The monotonic clock of the machine.
inline TimePoint SteadyNow() { return std::chrono::steady_clock::now(); }

// A point in the time of day. It may be set back: what takes how long is measured by TimePoint.
using WallTime = std::chrono::system_clock::time_point;
inline WallTime WallNow() { return std::chrono::system_clock::now(); }

// CPU time that the calling thread has used so far.
Duration ThreadCpuNow();

// CPU time that the process has used so far, user and system, all threads.
Duration ProcessCpuNow();

// Sleeps until `when` of SteadyNow, or until `stop` is asked for; false then.
bool SleepUntil(TimePoint when, const std::stop_token& stop);

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}
inline double ToMillis(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace gopmill
