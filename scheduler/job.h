// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler schedules. A job is one unit of one stream as the scheduler sees it: an id, a
// cost and something to run. What is inside (packets, codecs) is the business of whoever submits
// it; this folder never looks.
//
// Life of a job: Submit -> waits in its stream's line -> assigned to a worker's run queue -> Run on
// that worker's thread -> (after a first kFailed: once more on another worker) -> OnReport, exactly
// once, whatever happened on the way -> destroyed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/ids.h"

namespace gopmill {

// State that belongs to one worker and lives as long as its thread (the server puts its cache of
// codec contexts here). Made, used and destroyed on the worker's own thread.
class WorkerLocal {
 public:
  virtual ~WorkerLocal() = default;
  // Called on the worker's thread while it has nothing to run: does one small piece of preparation
  // and returns true, or returns false when there is nothing to prepare. Must be short (a unit that
  // arrives meanwhile waits for it).
  virtual bool OnIdle() noexcept { return false; }
};

// What a job learns about the worker it runs on. Valid during Run only.
struct WorkerContext {
  WorkerId id;
  WorkerLocal* local = nullptr;  // null when the scheduler was made without a factory
  // Set by the job when it had to open a codec context that a warm worker would have had; becomes
  // JobReport::cold. Cleared before each job.
  bool cold = false;
  // CPU time the job spent on opening contexts; zero when it did not measure it.
  Duration opening{};
};

inline constexpr TimePoint kNoDeadline = TimePoint::max();

// The facts that decide where a job goes.
struct JobSpec {
  UnitId unit;
  // Place of the stream in the order of arrival of streams, from 0; what `sm` maps by. Segments,
  // which belong to no stream of that order, have any number that they keep.
  std::uint64_t stream_number = 0;
  // Compressed bytes of the unit, > 0. Transcoding time is close to linear in them, so the queues
  // of the policies count bytes where they mean time.
  std::size_t cost_bytes = 0;
  // Pictures to encode; 0 = not known. What predictions of time are scaled by (cost_bytes if 0).
  std::uint32_t frames = 0;
  // Index into PolicyOptions::classes; one that does not exist counts as the last class.
  std::uint16_t service_class = 0;
  // Names the codec contexts the unit needs: units with equal keys use the same warm contexts.
  // 0 = those of the stream alone.
  std::uint64_t context = 0;
  // When the unit's output is due (live streams); kNoDeadline = as soon as possible.
  TimePoint deadline = kNoDeadline;
};

enum class JobOutcome {
  kDone,
  kFailed,     // may be run once more on another worker
  kCancelled,  // the job never ran, or says itself that it was stopped
};

// How a job went. Times are on the clock of the scheduler; a job that never ran has zero `started`
// and `finished`, and worker -1.
struct JobReport {
  UnitId unit;
  WorkerId worker;  // where it ran last
  WorkerId home;    // where the hash alone would have sent its stream
  int attempt = 0;  // 0 for the first run, 1 for the retry
  JobOutcome outcome = JobOutcome::kCancelled;
  TimePoint submitted;
  TimePoint assigned;  // put into a run queue
  TimePoint started;   // Run entered
  TimePoint finished;  // Run returned
  Duration cpu{};      // CPU time of the worker's thread inside Run
  // Time inside the policy for this job, all offers together: of decisions that were about it, or
  // whose answer names it first.
  Duration decision{};
  // The newest of these. Nearly always the one that assigned it, which lies behind `assigned`; not
  // where that was about another job, or named another one first.
  Duration last_decision{};
  bool cold = false;   // the job opened a codec context (WorkerContext::cold)
  Duration opening{};  // CPU time that took, if it was measured

  // Its waits for a worker and in the run queue, without the time inside the policy.
  [[nodiscard]] Duration global_wait() const {
    return assigned - submitted - (decision - last_decision);
  }
  [[nodiscard]] Duration run_wait() const { return started - assigned - last_decision; }
};

class Job {
 public:
  virtual ~Job() = default;
  // Does the work on the worker's thread. Called a second time, on another worker, if the first
  // call returned kFailed and there is another worker.
  virtual JobOutcome Run(WorkerContext& worker) noexcept = 0;
  // Whether Run starts threads of its own that are worth other workers' PUs. The worker's thread is
  // not pinned to its PU then while it runs the job, but to those of all workers, and what Run
  // starts inherits that. Threads of its own do not count in JobReport::cpu.
  [[nodiscard]] virtual bool spreads() const { return false; }
  // Exactly once: after the last Run, or with kCancelled if there was none. On a worker's or the
  // dispatcher's thread, so it must not block. May call Scheduler::Submit and Cancel; must not call
  // Shutdown or destroy the scheduler.
  virtual void OnReport(const JobReport& report) noexcept = 0;
};

}  // namespace gopmill
