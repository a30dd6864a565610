// SPDX-License-Identifier: Apache-2.0
//
// Small runs made by hand, for tests of what is computed from runs.
#pragma once

#include <string>

#include "server/bench/report.h"

namespace gopmill::bench::test {

inline TimePoint At(double ms) { return TimePoint(FromSeconds(ms * 1e-3)); }

// A unit that was submitted, assigned and begun at `begin` and took until `end`, in milliseconds.
UnitSample Unit(std::uint64_t stream, std::int64_t index, int worker, double begin, double end);

// Two workers, two streams of two units each; 20 ms, of which worker 0 is busy for 20 and worker 1
// for 10. Stream 1 finishes in order, stream 2 does not.
RunRecord SampleRun(const std::string& policy, int repeat);

// Policies "rr" and "fifo", two repeats of `run`.
Report SampleReport(const RunPolicy& run);
Report SampleReport();  // of SampleRun

}  // namespace gopmill::bench::test
