// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler_core.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "scheduler/worker_layout.h"

namespace gopmill {
namespace {

// After so many events at a time a worker or submitter goes back to its own work, and the
// dispatcher's thread goes on: on a machine with very many workers it would not get away.
constexpr std::size_t kMaxEventsOfOthers = 32;
// And the dispatcher's thread wakes workers and delivers reports after so many, however many there
// are: events may come as fast as they are handled.
constexpr std::size_t kMaxEventsAtOnce = 256;

}  // namespace

Scheduler::Core::Core(Topology topology, std::vector<int> worker_pus,
                      std::unique_ptr<Dispatcher> dispatcher, ThreadExecutor::Params workers)
    : topology_(std::move(topology)),
      worker_pus_(std::move(worker_pus)),
      classes_(dispatcher->pool().classes().begin(), dispatcher->pool().classes().end()),
      executor_(std::move(workers)),
      dispatcher_(std::move(dispatcher)) {}

Status Scheduler::Core::Launch() {
  GOPMILL_RETURN_IF_ERROR(executor_.Launch(*this));
  placements_ = executor_.Placements();
  const auto run = [this] {
    pthread_setname_np(pthread_self(), "dispatcher");
    Loop();
  };
  GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread(run));
  return OkStatus();
}

Status Scheduler::Core::Submit(const JobSpec& spec, std::unique_ptr<Job> job) {
  const TimePoint now = SteadyNow();
  {
    const MutexLock lock(inbox_mutex_);
    if (!open_) return ShuttingDown();
    inbox_.emplace_back(JobArrived{spec, std::move(job), now});
    if (std::exchange(driven_, true)) return OkStatus();
  }
  Drive(kMaxEventsOfOthers);
  return OkStatus();
}

void Scheduler::Core::OnFinished(const JobReport& report, std::unique_ptr<Job> job) {
  {
    const MutexLock lock(inbox_mutex_);
    inbox_.emplace_back(JobFinished{report, std::move(job)});
    if (std::exchange(driven_, true)) return;
  }
  Drive(kMaxEventsOfOthers);
}

void Scheduler::Core::Cancel(StreamId stream) {
  {
    const MutexLock lock(inbox_mutex_);
    if (!open_) return;
    inbox_.emplace_back(StreamCancelled{stream});
    if (driven_) return;
  }
  changed_.NotifyOne();
}

// First those that come back, so that there is always one. A change that is none is ignored.
void Scheduler::Core::SetInService(int workers) {
  const std::vector<bool> in_service = InServiceOf(topology_, worker_pus_, workers);
  in_service_ = static_cast<int>(std::ranges::count(in_service, true));
  {
    const MutexLock lock(inbox_mutex_);
    if (!open_) return;
    for (const bool back : {true, false}) {
      for (std::size_t i = 0; i < in_service.size(); ++i) {
        if (in_service[i] != back) continue;
        inbox_.emplace_back(WorkersChanged{WorkerId{static_cast<std::int32_t>(i)}, back});
      }
    }
    if (driven_) return;
  }
  changed_.NotifyOne();
}

void Scheduler::Core::Shutdown() {
  // Whoever comes second waits until the first is through.
  std::call_once(shut_down_, [this] {
    if (!thread_.joinable()) return;
    {
      const MutexLock lock(inbox_mutex_);
      open_ = false;
      inbox_.emplace_back(AllCancelled{});
      closing_ = true;
      changed_.NotifyOne();
    }
    thread_.join();
    executor_.Stop();
  });
}

// Handles events until there are none, or until `most` were handled: the dispatcher's thread goes
// on with the rest. One thread at a time: the one that set driven_.
void Scheduler::Core::Drive(std::size_t most) {
  std::size_t handled = 0;
  Leaving leaving;
  while (TakeInbox(handled < most, leaving)) {
    for (; next_event_ < events_.size() && handled < most; ++handled) {
      StepAndAct(std::move(events_[next_event_++]));
    }
  }
  if (leaving.wake_dispatcher) changed_.NotifyOne();
  for (const WorkerId worker : leaving.started) executor_.Wake(worker);
}

// False when there are none, or no more are wanted: then this thread does not drive any more.
bool Scheduler::Core::TakeInbox(bool more, Leaving& leaving) {
  const MutexLock lock(inbox_mutex_);
  for (ReportAction& report : reports_) unreported_.push_back(std::move(report));
  reports_.clear();
  if (next_event_ == events_.size()) {
    events_.clear();
    next_event_ = 0;
    events_.swap(inbox_);
  }
  if (more && !events_.empty()) return true;
  driven_ = false;
  leaving.started.swap(started_);
  // The last job may have ended just now.
  leaving.wake_dispatcher = closing_ || !events_.empty() || !unreported_.empty();
  return false;
}

void Scheduler::Core::StepAndAct(DispatcherEvent event) {
  std::vector<DispatcherAction>& actions = actions_;
  Step(std::move(event), actions);
  // Answers to recalls add to the list while we walk it.
  for (std::size_t i = 0; i < actions.size(); ++i) {
    DispatcherAction action = std::move(actions[i]);
    std::visit([this](auto& a) { this->Act(a); }, action);
  }
  actions.clear();
}

void Scheduler::Core::Step(DispatcherEvent event, std::vector<DispatcherAction>& actions) {
  const MutexLock lock(state_mutex_);
  dispatcher_->Step(std::move(event), SteadyNow(), actions);
}

void Scheduler::Core::Act(StartAction& action) {
  executor_.Start(action.worker, std::move(action.ticket));
  started_.push_back(action.worker);
}

void Scheduler::Core::Act(RecallAction& action) {
  std::optional<Ticket> ticket = executor_.TryRecall(action.worker, action.unit);
  Step(JobRecalled{action.worker, action.unit, ticket ? std::move(ticket->job) : nullptr},
       actions_);
}

void Scheduler::Core::Act(ReportAction& action) { reports_.push_back(std::move(action)); }

void Scheduler::Core::Loop() {
  std::vector<ReportAction> reports;
  for (Task task = NextTask(reports); task != Task::kEnd; task = NextTask(reports)) {
    if (task == Task::kDrive) Drive(kMaxEventsAtOnce);
    for (ReportAction& action : reports) {
      action.job->OnReport(action.report);
      action.job.reset();
    }
    reports.clear();
  }
}

// Sets driven_ where events are to be handled; kEnd: closed, and all is done.
Scheduler::Core::Task Scheduler::Core::NextTask(std::vector<ReportAction>& reports) {
  const MutexLock lock(inbox_mutex_);
  while (true) {
    if (!unreported_.empty()) {
      reports.swap(unreported_);
      return Task::kReport;
    }
    if (!driven_ && EventsWait()) {
      driven_ = true;
      return Task::kDrive;
    }
    if (!driven_ && closing_ && Empty()) return Task::kEnd;
    changed_.Wait(inbox_mutex_);
  }
}

// Only while nobody drives.
bool Scheduler::Core::EventsWait() const { return next_event_ < events_.size() || !inbox_.empty(); }

bool Scheduler::Core::Empty() const {
  const MutexLock lock(state_mutex_);
  return dispatcher_->empty();
}

WorkerStats Scheduler::Core::StatsOf(const WorkerPlacement& placement, bool with_runs) const {
  const PoolState& pool = dispatcher_->pool();
  const WorkerId id = placement.worker;
  const WorkerTimes times = executor_.Times(id);
  const WorkerCounters& counters = dispatcher_->worker_counters(id);
  WorkerStats worker{.worker = id,
                     .pu_os_index = placement.pu_os_index,
                     .pinned = placement.pinned,
                     .pin_warning = placement.warning,
                     .in_service = pool.available(id),
                     .busy = times.busy,
                     .jobs_done = counters.jobs_done,
                     .queued_units = pool.units_of(id),
                     .queued_bytes = pool.bytes_of(id),
                     .running = std::nullopt,
                     .running_since = std::nullopt,
                     .recent = {}};
  if (with_runs) worker.recent = counters.RecentRuns();
  const UnitRef running = pool.Running(id);
  if (!running.valid()) return worker;
  worker.running = pool.unit(running).spec.unit;
  worker.running_since = times.running_since;
  worker.queued_units -= 1;
  worker.queued_bytes -= pool.unit(running).spec.cost_bytes;
  return worker;
}

std::vector<ClassStats> Scheduler::Core::ClassesNow() const {
  std::vector<ClassStats> stats;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const ClassState& state = dispatcher_->pool().class_state(static_cast<int>(i));
    stats.push_back({.name = classes_[i].name,
                     .served = state.served,
                     .waiting_units = state.waiting_units,
                     .assigned_units = state.assigned_units});
  }
  return stats;
}

SchedulerStats Scheduler::Core::Stats(bool with_runs) const {
  const MutexLock lock(state_mutex_);
  SchedulerStats stats;
  static_cast<SchedulerCounters&>(stats) = dispatcher_->counters();
  stats.waiting_units = dispatcher_->pool().waiting_units();
  stats.waiting_bytes = dispatcher_->pool().waiting_bytes();
  for (const WorkerPlacement& placement : placements_) {
    stats.workers.push_back(StatsOf(placement, with_runs));
  }
  stats.classes = ClassesNow();
  return stats;
}

}  // namespace gopmill
