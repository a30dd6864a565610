// SPDX-License-Identifier: Apache-2.0
//
// The facade of this folder: jobs go in from any thread, run on pinned workers, and are reported
// exactly once.
//
//   Submit/Cancel (any thread) --> inbox --> one thread at a time: Dispatcher::Step --> actions
//                                    ^                                                    |
//                                    +----- OnFinished ---- Executor (workers) <----------+
//
// That one thread is the one that submits, or the worker's own for what it finished, so that a
// worker finds its next unit without waiting for another thread to get a CPU; the dispatcher's for
// the rest.
//
// Guarantees: of the units of one stream that wait the first is assigned first; a stream whose
// worker is full waits alone; a unit that fails is run once more on another worker; every job that
// was accepted is reported exactly once, also through Cancel and Shutdown.
//
// The queue in front of the workers is bounded by its submitters: each keeps at most its window of
// bytes submitted and unreported. Submit itself never refuses for fullness and never blocks.
//
// Thread-safety: safe, except that Shutdown and the destructor must not be called from a job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shared_settings.h"
#include "base/status.h"
#include "scheduler/counters.h"
#include "scheduler/executor.h"
#include "scheduler/job.h"
#include "scheduler/policy_options.h"
#include "scheduler/topology.h"

namespace gopmill {

struct SchedulerOptions {
  std::string policy{kDefaultPolicy};
  // 0 = one per allowed PU, fewer if the CPU quota of the cgroup is smaller. May exceed the PUs:
  // then PUs are shared.
  int workers = 0;
  // Units one worker may hold, the running one included; 0 = without bound. Two is the smallest
  // number with which a worker finds its next unit without waiting for the dispatcher.
  int run_queue_units = 2;
  bool pin = true;
  PolicyOptions policy_options = {};
  // Applied on top of policy_options: forms of the rules (policy_options_text.h) and service
  // classes (service_class.h) as text; empty = nothing.
  std::string rules = {};
  std::string classes = {};
};

struct WorkerStats {
  WorkerId worker;
  int pu_os_index = -1;
  bool pinned = false;      // verified by reading the mask back
  std::string pin_warning;  // empty unless pinning was asked for and failed
  bool in_service = true;   // is given units
  Duration busy{};          // inside jobs, the running one up to now
  std::uint64_t jobs_done = 0;
  int queued_units = 0;  // run queue without the running unit
  std::uint64_t queued_bytes = 0;
  std::optional<UnitId> running;
  std::optional<TimePoint> running_since;  // when that one began
  std::vector<WorkerRun> recent;           // newest runs that ended, oldest first; if asked for
};

struct ClassStats {
  std::string name;
  Duration served{};  // worker time of its runs that ended
  std::uint64_t waiting_units = 0;
  int assigned_units = 0;
};

// One snapshot, consistent in itself.
struct SchedulerStats : SchedulerCounters {
  std::vector<WorkerStats> workers;
  std::vector<ClassStats> classes;
  std::uint64_t waiting_units = 0;  // global queue: submitted and not yet assigned
  std::uint64_t waiting_bytes = 0;

  // Scheduling overhead: time inside the policy per second of job time.
  [[nodiscard]] double Overhead() const;
  // Share of the assigned units that did not go to the home of their stream.
  [[nodiscard]] double Disruption() const;
};

// The worker that a scheduler made with these arguments would send the stream to on an idle
// machine.
Result<WorkerId> HomeOf(StreamId stream, const SchedulerOptions& options, const Topology& topology);

using WorkerLocalFactory = std::function<std::unique_ptr<WorkerLocal>(WorkerId)>;

class Scheduler {
 public:
  // Starts the workers and the dispatcher. `make_local` (may be empty) is called once on each
  // worker's own thread. Fails on an unknown policy (the error lists the accepted names), on a
  // policy that cannot serve so many workers, and when threads cannot be made.
  static Result<std::unique_ptr<Scheduler>> Create(const SchedulerOptions& options,
                                                   const Topology& topology,
                                                   WorkerLocalFactory make_local);
  // Shutdown, then frees everything.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Takes the job unless the arguments are wrong (kInvalidArgument) or the scheduler is closed
  // (kUnavailable); a job that is not taken is destroyed without a report. Units of one stream are
  // submitted by one thread at a time; those that wait are assigned by their index.
  Status Submit(const JobSpec& spec, std::unique_ptr<Job> job);
  // Reports the stream's jobs that have not begun as kCancelled, promptly but not before returning.
  // A running one is left to its own stop token and is not retried. Jobs submitted later are new.
  void Cancel(StreamId stream);
  // From soon on so many of the workers, 1 to worker_count(), are given units; which ones is a
  // matter of their places (worker_layout.h). One that is taken out of service ends what it runs
  // and hands back what it holds besides. Called by one thread at a time.
  void SetInService(int workers);
  // Closes the gate, cancels what has not begun, waits for what runs, ends the threads. Idempotent.
  void Shutdown();

  [[nodiscard]] SchedulerStats Stats() const;
  // With the recent runs of each worker (kRecentRuns).
  [[nodiscard]] SchedulerStats StatsWithRuns() const;
  // All that were started; those that are given units.
  [[nodiscard]] int worker_count() const;
  [[nodiscard]] int in_service() const;
  // At least one. What JobSpec::service_class counts in.
  [[nodiscard]] std::span<const ServiceClass> classes() const;
  // Index of the class of that name; an empty name is the first. kInvalidArgument with the names
  // when there is none.
  [[nodiscard]] Result<std::uint16_t> ClassOf(const std::string& name) const;
  // When a unit of that class that is submitted now should be finished; kNoDeadline where the class
  // has no deadline.
  [[nodiscard]] TimePoint DeadlineOf(std::uint16_t service_class) const;
  // The PUs the workers were chosen from.
  [[nodiscard]] const Topology& topology() const;

 private:
  class Core;
  explicit Scheduler(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace gopmill
