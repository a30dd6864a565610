// SPDX-License-Identifier: Apache-2.0
//
// Writes what arrives and what it costs to a trace (scheduler/sim/trace.h), for `bench --trace`
// and the simulator. Units are queued by the streams' egress threads, or the workers that made a
// segment, and written by a thread of its own, so that a slow disk delays nobody: when
// kMaxQueuedUnits wait, further ones are not recorded, and the end says so. What was queued is in
// the file soon, so that a server that is killed leaves a trace that can be read.
//
// Recorded is what was done in the end; units that failed or were cancelled are left out. Not the
// passes that measure a movie for quality=best: they have the ids of the stream's own units. Live
// renditions that share a decode are one job; each is recorded with its share of that job's time.
//
// CPU time is that of the worker's thread and of decoding aside, without the threads that encoders
// of HEVC and AV1 start. That of a unit that opened contexts is its cold time, less the time that
// took its hot time. A unit that found them warm gives its hot time; its cold time is that plus the
// mean opening time of its contexts so far, and not recorded while nothing is known of them. Where
// there are none to be kept warm both are the same.
//
// Thread-safety: safe; Close belongs to the owner and comes after the last stream.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/service_class.h"
#include "scheduler/sim/trace.h"
#include "server/stream/unit_observer.h"

namespace gopmill::bench {

inline constexpr std::size_t kMaxQueuedUnits = 65'536;
// Contexts whose opening time is remembered; beyond that, units of further ones have no cold time
// unless they were cold.
inline constexpr std::size_t kMaxKnownContexts = 100'000;

class TraceRecorder : public UnitObserver {
 public:
  // Creates the file, with what becomes of one that is there, as OpenTraceFile has it
  // (scheduler/sim/trace_file.h); the clock of the trace starts now. Units of a class that
  // `classes` does not have are recorded without the name of one.
  static Result<std::shared_ptr<TraceRecorder>> Create(const std::filesystem::path& file,
                                                       const TraceHeader& header,
                                                       std::vector<ServiceClass> classes = {});
  ~TraceRecorder() override;

  void OnEnded(const UnitLife& life) noexcept override;
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override {}

  // Writes what is queued and closes the file. Says what went wrong since the beginning: the first
  // error of the disk, or how many units are missing.
  Status Close();

 private:
  TraceRecorder(TraceWriter writer, std::vector<ServiceClass> classes);
  void WriteLoop();
  void WriteOne(const UnitLife& life);
  void Note(Status written);

  const TimePoint begin_ = SteadyNow();
  const std::vector<ServiceClass> classes_;
  Mutex mutex_;  // guards the four below
  CondVar changed_;
  std::deque<UnitLife> queue_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t missed_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool closing_ GOPMILL_GUARDED_BY(mutex_) = false;

  // Owned by the writing thread, by Close once that has ended.
  TraceWriter writer_;
  Status status_;
  bool closed_ = false;
  struct Opening {
    double sum_ms = 0;
    std::int64_t count = 0;
  };
  std::unordered_map<std::uint64_t, Opening> openings_;  // by context
  std::jthread thread_;
};

// The line of the trace for one unit; `known_opening_ms` of its contexts, empty if unknown.
TraceUnit ToTraceUnit(const UnitLife& life, TimePoint begin,
                      std::optional<double> known_opening_ms);

}  // namespace gopmill::bench
