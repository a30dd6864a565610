// SPDX-License-Identifier: Apache-2.0
//
// The heart of the scheduler as a state machine: events in, actions out. It owns the pool and the
// policy, keeps the lines of the streams, and turns the policy's decisions into orders for workers.
//
// Guarantees, each tested on random schedules: every job that arrived ends in exactly one of
//   - a StartAction whose run is final (the worker reports it), or
//   - a ReportAction (cancelled before it ran, or failed and not to be retried);
// of a stream's units that wait the one with the smallest index is assigned first (a retry takes
// its old place); a unit runs at most twice, the second time elsewhere.
//
// What it does not do: run jobs, call their methods, know threads, read the clock (`now` is given).
//
// Thread-safety: compatible; Scheduler steps it under a lock, tests and the simulator directly.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "scheduler/counters.h"
#include "scheduler/executor.h"
#include "scheduler/policy.h"
#include "scheduler/pool_state.h"

namespace gopmill {

// --- Events --------------------------------------------------------------------------------------
struct JobArrived {
  JobSpec spec;
  std::unique_ptr<Job> job;
  TimePoint submitted;
};
// A ticket ran; with `job` when it failed and may be retried (executor.h).
struct JobFinished {
  JobReport report;
  std::unique_ptr<Job> job;
};
// The answer to a RecallAction; without `job` the worker has begun or finished it.
struct JobRecalled {
  WorkerId worker;
  UnitId unit;
  std::unique_ptr<Job> job;
};
struct StreamCancelled {
  StreamId stream;
};
// Shutdown: every stream is cancelled, and so is whatever arrives from now on.
struct AllCancelled {};
using DispatcherEvent = std::variant<JobArrived, JobFinished, JobRecalled, StreamCancelled,
                                     AllCancelled, WorkersChanged>;

// --- Actions -------------------------------------------------------------------------------------
// Executor::Start.
struct StartAction {
  WorkerId worker;
  Ticket ticket;
};
// Executor::TryRecall, answered by JobRecalled.
struct RecallAction {
  WorkerId worker;
  UnitId unit;
};
// Job::OnReport, then destroy the job.
struct ReportAction {
  std::unique_ptr<Job> job;
  JobReport report;
};
using DispatcherAction = std::variant<StartAction, RecallAction, ReportAction>;

class Dispatcher {
 public:
  // What measures the time inside the policy; null = not measured.
  using Stopwatch = TimePoint (*)();

  // `policy` was made for `pool`.
  Dispatcher(std::unique_ptr<PoolState> pool, std::unique_ptr<Policy> policy, Stopwatch stopwatch);

  // Handles one event and appends what is to be done about it, in order.
  void Step(DispatcherEvent event, TimePoint now, std::vector<DispatcherAction>& actions);

  [[nodiscard]] const PoolState& pool() const { return *pool_; }
  [[nodiscard]] const SchedulerCounters& counters() const { return counters_; }
  [[nodiscard]] const WorkerCounters& worker_counters(WorkerId w) const {
    return worker_counters_[static_cast<std::size_t>(w.value)];
  }
  // Nothing waits and no worker has anything.
  [[nodiscard]] bool empty() const { return unfinished_ == 0; }

 private:
  void Handle(JobArrived& event);
  void Handle(JobFinished& event);
  void Handle(JobRecalled& event);
  void Handle(StreamCancelled& event);
  void Handle(AllCancelled& event);
  void Handle(WorkersChanged& event);

  void Offer(UnitRef unit);
  void OfferPending();
  void RefillWorker(WorkerId worker);
  void Decide(const PolicyEvent& event);
  bool ApplyDecision();
  void Apply(const Assign& action);
  void Apply(const Hold& action);
  void EnsureHome(UnitRef unit);
  void AssignTo(UnitRef unit, WorkerId worker);
  void ComeBack(UnitRef unit);
  void CancelWaiting(UnitRef unit);
  void CancelAssigned(UnitRef unit);
  void Report(UnitRef unit, JobOutcome outcome);
  void ReportCancelled(UnitRef unit);
  [[nodiscard]] bool HasOtherWorker(WorkerId than) const;

  const std::unique_ptr<PoolState> pool_;
  const std::unique_ptr<Policy> policy_;
  const Stopwatch stopwatch_;
  SchedulerCounters counters_;
  std::vector<WorkerCounters> worker_counters_;
  std::uint64_t unfinished_ = 0;
  bool closed_ = false;

  // Valid during Step.
  TimePoint now_;
  std::vector<DispatcherAction>* out_ = nullptr;
  ActionList decision_;
  std::vector<UnitRef> pending_;  // heads that the policy has yet to hear of
};

}  // namespace gopmill
