// SPDX-License-Identifier: Apache-2.0
//
// The units of one stream one by one, for its trace: when each was read, waited, ran and was sent.
//
// Bounded: the newest kKeptUnits of each stream, also of the ended ones that MediaService keeps. A
// record is at most kMostUnitBytes: 176 KiB for a stream, 18 MB for the 100 that are kept, 12 MB
// for 64 that run.
//
// Cost: under a microsecond for each unit, which takes milliseconds.
//
// Thread-safety: safe. Written by the stream's egress thread, read by anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/stream/unit_observer.h"

namespace gopmill {

inline constexpr std::size_t kKeptUnits = 1024;
inline constexpr std::size_t kMostUnitBytes = 176;

// A unit that was reported. Times it never came to are zero: of reading those of segments, of
// running those of one that was cancelled before.
struct LoggedUnit {
  UnitId unit;
  WorkerId worker, home;
  std::uint32_t frames = 0;
  std::uint8_t attempt = 0;
  JobOutcome outcome = JobOutcome::kCancelled;
  bool cold = false;
  std::size_t bytes = 0;            // as JobSpec counts them
  TimePoint read_at, planned_at{};  // whole; let into the window
  TimePoint submitted, assigned, started, finished;
  TimePoint released{};  // left the reorderer; zero until then
  Duration read{}, window_wait{};
  Duration cpu{}, opening{}, decision{};
  Duration decode{}, filter{}, encode{};

  [[nodiscard]] bool ran() const { return worker.value >= 0; }
  [[nodiscard]] bool was_released() const { return released != TimePoint{}; }
};
static_assert(sizeof(LoggedUnit) <= kMostUnitBytes);

LoggedUnit ToLogged(const UnitLife& life);

class UnitLog final : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override;
  void OnReleased(UnitId unit, TimePoint when) noexcept override;
  [[nodiscard]] std::vector<LoggedUnit> Newest() const;  // in the order in which they ended

 private:
  mutable Mutex mutex_;  // guards the list
  std::deque<LoggedUnit> units_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
