// SPDX-License-Identifier: Apache-2.0
#include "server/stream/unit_log.h"

namespace gopmill {

LoggedUnit ToLogged(const UnitLife& life) {
  const JobReport& report = life.report;
  return {.unit = report.unit,
          .worker = report.worker,
          .home = report.home,
          .frames = life.spec.frames,
          .attempt = static_cast<std::uint8_t>(report.attempt),
          .outcome = report.outcome,
          .cold = report.cold,
          .bytes = life.spec.cost_bytes,
          .read_at = life.read_at,
          .planned_at = life.planned_at,
          .submitted = report.submitted,
          .assigned = report.assigned,
          .started = report.started,
          .finished = report.finished,
          .read = life.read,
          .window_wait = life.window_wait,
          .cpu = report.cpu + life.stats.aside_cpu,
          .opening = report.opening,
          .decision = report.decision,
          .decode = life.stats.decode,
          .filter = life.stats.filter,
          .encode = life.stats.encode};
}

void UnitLog::OnEnded(const UnitLife& life) noexcept {
  const LoggedUnit unit = ToLogged(life);
  const MutexLock lock(mutex_);
  units_.push_back(unit);
  if (units_.size() > kKeptUnits) units_.pop_front();
}

void UnitLog::OnReleased(UnitId unit, TimePoint when) noexcept {
  const MutexLock lock(mutex_);
  // It ended not long ago.
  for (auto logged = units_.rbegin(); logged != units_.rend(); ++logged) {
    if (logged->unit != unit) continue;
    logged->released = when;
    return;
  }
}

std::vector<LoggedUnit> UnitLog::Newest() const {
  const MutexLock lock(mutex_);
  return {units_.begin(), units_.end()};
}

}  // namespace gopmill
