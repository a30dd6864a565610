// SPDX-License-Identifier: Apache-2.0
//
// The mechanism inside a Scheduler (scheduler.h): an inbox that any thread fills, and one thread at
// a time that steps the dispatcher with what is in it ("drives") and does what it says.
//
// Submit and OnFinished decide on their caller's thread unless somebody is at it already: a worker
// that had to wait for another thread to get a CPU would stand still for as long (a tick, on a busy
// machine). What they leave, and what others put in, is the dispatcher's thread's, which also
// delivers the reports of jobs that never ran.
//
// Guarantees: events are handled in the order in which they came; a job is reported by no thread
// that submits, since that may hold locks that a report needs; nobody is woken before the thread
// that drives has stopped, because who is woken may take its CPU away, and then nobody could
// decide.
//
// Thread-safety: safe; Launch before anything else.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/dispatcher.h"
#include "scheduler/scheduler.h"
#include "scheduler/thread_executor.h"

namespace gopmill {

class Scheduler::Core final : public ExecutorListener {
 public:
  // `worker_pus`: by worker, index in topology.pus().
  Core(Topology topology, std::vector<int> worker_pus, std::unique_ptr<Dispatcher> dispatcher,
       ThreadExecutor::Params workers);

  // Starts the threads.
  Status Launch();
  // As those of Scheduler.
  Status Submit(const JobSpec& spec, std::unique_ptr<Job> job);
  void Cancel(StreamId stream);
  void SetInService(int workers);
  void Shutdown();
  void OnFinished(const JobReport& report, std::unique_ptr<Job> job) override;

  [[nodiscard]] SchedulerStats Stats(bool with_runs) const;
  [[nodiscard]] int worker_count() const { return static_cast<int>(placements_.size()); }
  [[nodiscard]] int in_service() const { return in_service_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] std::span<const ServiceClass> classes() const { return classes_; }

 private:
  // What a thread that stops driving has left to do.
  struct Leaving {
    std::vector<WorkerId> started;  // are to be woken
    bool wake_dispatcher = false;
  };
  enum class Task { kReport, kDrive, kEnd };

  void Drive(std::size_t most);
  bool TakeInbox(bool more, Leaving& leaving);
  void StepAndAct(DispatcherEvent event);
  void Step(DispatcherEvent event, std::vector<DispatcherAction>& actions);
  void Act(StartAction& action);
  void Act(RecallAction& action);
  void Act(ReportAction& action);

  // The dispatcher's thread.
  void Loop();
  Task NextTask(std::vector<ReportAction>& reports);
  [[nodiscard]] bool EventsWait() const GOPMILL_REQUIRES(inbox_mutex_);
  [[nodiscard]] bool Empty() const;

  [[nodiscard]] WorkerStats StatsOf(const WorkerPlacement& placement, bool with_runs) const
      GOPMILL_REQUIRES(state_mutex_);
  [[nodiscard]] std::vector<ClassStats> ClassesNow() const GOPMILL_REQUIRES(state_mutex_);

  const Topology topology_;
  const std::vector<int> worker_pus_;
  std::atomic<int> in_service_ = static_cast<int>(worker_pus_.size());
  const std::vector<ServiceClass> classes_;
  ThreadExecutor executor_;
  std::vector<WorkerPlacement> placements_;  // constant after Launch

  // Guards the dispatcher; held for microseconds. Taken after inbox_mutex_, never before it.
  mutable Mutex state_mutex_;
  const std::unique_ptr<Dispatcher> dispatcher_ GOPMILL_GUARDED_BY(state_mutex_);

  Mutex inbox_mutex_;  // guards what follows
  std::vector<DispatcherEvent> inbox_ GOPMILL_GUARDED_BY(inbox_mutex_);
  bool open_ GOPMILL_GUARDED_BY(inbox_mutex_) = true;
  bool closing_ GOPMILL_GUARDED_BY(inbox_mutex_) = false;
  bool driven_ GOPMILL_GUARDED_BY(inbox_mutex_) = false;  // some thread is in Drive
  // Of jobs that have not run, for the dispatcher's thread.
  std::vector<ReportAction> unreported_ GOPMILL_GUARDED_BY(inbox_mutex_);
  CondVar changed_;

  // Owned by the thread that drives; who drives next goes on at next_event_.
  std::vector<DispatcherEvent> events_;
  std::size_t next_event_ = 0;
  std::vector<DispatcherAction> actions_;
  std::vector<ReportAction> reports_;
  std::vector<WorkerId> started_;
  std::once_flag shut_down_;
  std::jthread thread_;
};

}  // namespace gopmill
