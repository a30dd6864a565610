// SPDX-License-Identifier: Apache-2.0
//
// What may be learnt of each unit from outside: the bench measures by it, the recorder writes
// traces from it. A unit is one of a stream, or a segment or sheet of thumbnails that was made
// because a client asked for it.
//
// Thread-safety: an observer is called by the egress threads of all streams it was given to, each
// for its own stream, and of segments and thumbnails by workers or whoever steps the dispatcher;
// one that is shared has to be safe.
#pragma once

#include <cstddef>
#include <optional>

#include "base/clock.h"
#include "codec/unit_transcoder.h"
#include "scheduler/job.h"

namespace gopmill {

// One unit on its way from the source to the reorderer. Segments and sheets have no source that is
// read along, no window and no place on a clock: what is of those is zero.
struct UnitLife {
  JobSpec spec;
  JobReport report;
  UnitStats stats;             // zero unless the outcome is kDone; zero of sound and thumbnails
  bool keeps_contexts = true;  // false: sound, which opens its own and leaves nothing warm
  Duration read{};             // ingest: reading the unit and cutting it off
  Duration window_wait{};      // ingest: until the stream's window had room
  TimePoint read_at{};         // ingest: when it was whole
  TimePoint planned_at{};      // ingest: when the window had room
  // When all was there that it needs; it may have been kept back. Unless set: when submitted.
  std::optional<TimePoint> came_at = {};
  double media_seconds = 0;  // start of the unit on the output clock
};

class UnitObserver {
 public:
  virtual ~UnitObserver() = default;
  // A unit was reported, whatever its outcome. Must not block.
  virtual void OnEnded(const UnitLife& life) noexcept = 0;
  // A unit of a stream left the reorderer whole, in order; after its OnEnded. Must not block.
  virtual void OnReleased(UnitId unit, TimePoint when) noexcept = 0;
};

}  // namespace gopmill
