// SPDX-License-Identifier: Apache-2.0
//
// Admission of streams (scheduler/admission.h) with the predictions it needs (demand_table.h):
// asked once a stream's plan is known and before its first byte, told of every unit, and of the
// end.
//
// Thread-safety: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_safety.h"
#include "codec/effort.h"
#include "scheduler/admission.h"
#include "server/stream/demand_table.h"

namespace gopmill {

struct AdmissionStats {
  std::string name;  // of the class
  ClassPromise promise;
};

class StreamAdmission {
 public:
  // `promise` as for Admission; 0 = everybody is let in, and nothing is counted.
  StreamAdmission(std::vector<ServiceClass> classes, int workers, double promise);

  // So many workers from now on; who was let in stays.
  void SetWorkers(int workers);
  // kUnavailable, with what would be possible, if the stream would break a promise. Of renditions
  // that are made together only the first `decodes`.
  Status Admit(StreamId stream, const StreamPlan& plan, std::uint16_t service_class, bool real_time,
               TimePoint now, bool decodes = true);
  // Of real-time renditions that are made together, the largest first: how many of the largest have
  // to be left out for the others to be let in. kUnavailable, with the need of all or the class's
  // deadline, if there may be none (`all` are wanted) or not even the last would be let in.
  // Promises nothing.
  Result<std::size_t> LeavesOut(std::span<const StreamPlan> plans, std::uint16_t service_class,
                                bool all, TimePoint now);
  // `to` will go on where `from`, which was let in, stops: it is let in, with that one's need.
  void GoOn(StreamId from, StreamId to);
  // A unit of the stream was transcoded.
  void OnUnit(StreamId stream, const StreamPlan& plan, const UnitCost& cost);
  // A unit of a live stream, `length` of its time, was finished at `now`, and the next ones, of
  // which `more` say that some are there, get this effort. While half of the real-time streams, and
  // more than one where there are several workers, get less than Effort::kFull no other is let in:
  // the machine has enough. One without any that has had none for kSilence, or for three of its
  // units, takes nothing of it: its publisher left.
  void OnEffort(StreamId stream, Effort effort, TimePoint now, Duration length = {},
                bool more = false);
  static constexpr std::chrono::seconds kSilence{2};
  // The stream has ended, whether it was let in or not.
  void Release(StreamId stream);

  [[nodiscard]] std::vector<AdmissionStats> Stats() const;
  [[nodiscard]] std::uint64_t refused() const;  // how many were not let in

 private:
  struct Running {
    double core_seconds = 0, media_seconds = 0;  // of the last units
  };
  [[nodiscard]] StreamNeed NeedOf(const StreamPlan& plan, std::uint16_t service_class,
                                  bool real_time, bool decodes) const GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] bool DoesNotKeepUp(TimePoint now) const GOPMILL_REQUIRES(mutex_);

  const bool on_;
  mutable Mutex mutex_;  // guards all below; held for a look-up
  int workers_ GOPMILL_GUARDED_BY(mutex_);
  Admission admission_ GOPMILL_GUARDED_BY(mutex_);
  DemandTable demand_ GOPMILL_GUARDED_BY(mutex_);
  std::map<StreamId, Running> running_ GOPMILL_GUARDED_BY(mutex_);
  // Until when they count, if no unit comes.
  std::map<StreamId, TimePoint> degraded_ GOPMILL_GUARDED_BY(mutex_);
  std::uint64_t refused_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gopmill
