// SPDX-License-Identifier: Apache-2.0
//
// Units made by hand, for tests of what is told of them.
#pragma once

#include "server/stream/unit_observer.h"

namespace gopmill::test {

inline TimePoint AtMillis(double ms) { return TimePoint(FromSeconds(ms * 1e-3)); }

// Read at `read` in one millisecond, run from `started` to `finished`; milliseconds.
inline UnitLife Life(std::int64_t index, int worker, double read, double started, double finished) {
  const UnitId id{StreamId{5}, UnitIndex{index}};
  UnitLife life{.spec = {.unit = id, .cost_bytes = 1000, .frames = 12}, .report = {}, .stats = {}};
  life.read_at = life.planned_at = AtMillis(read);
  life.read = FromSeconds(1e-3);
  JobReport& report = life.report;
  report.unit = id;
  report.worker = WorkerId{worker};
  report.home = WorkerId{0};
  report.outcome = JobOutcome::kDone;
  report.submitted = report.assigned = AtMillis(read);
  report.started = AtMillis(started);
  report.finished = AtMillis(finished);
  report.cpu = report.finished - report.started;
  life.stats.decode = report.cpu / 4;
  life.stats.encode = report.cpu / 2;
  return life;
}

}  // namespace gopmill::test
