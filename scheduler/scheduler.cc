// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "base/thread_safety.h"
#include "scheduler/cgroup_quota.h"
#include "scheduler/dispatcher.h"
#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "scheduler/thread_executor.h"
#include "scheduler/worker_layout.h"

namespace gopmill {
namespace {

// After so many events at a time a worker or submitter goes back to its own work, and the
// dispatcher's thread goes on: on a machine with very many workers it would not get away.
constexpr std::size_t kMaxEventsOfOthers = 32;
// And the dispatcher's thread wakes workers and delivers reports after so many, however many there
// are: events may come as fast as they are handled.
constexpr std::size_t kMaxEventsAtOnce = 256;

Status CheckOptions(const SchedulerOptions& options) {
  if (options.workers < 0 || options.workers > kMaxWorkers) {
    return InvalidArgument("workers", "The number of workers is out of range.",
                           "0 (one per CPU) to " + std::to_string(kMaxWorkers));
  }
  if (options.run_queue_units < 0) {
    return InvalidArgument("run_queue_units", "A run queue cannot hold fewer than 0 units.",
                           "0 (no bound) or more");
  }
  return OkStatus();
}

}  // namespace

double SchedulerStats::Overhead() const {
  return run_time.count() == 0 ? 0.0 : ToSeconds(decision_time) / ToSeconds(run_time);
}

double SchedulerStats::Disruption() const {
  return assigned == 0 ? 0.0
                       : static_cast<double>(assigned_elsewhere) / static_cast<double>(assigned);
}

// The mechanism: an inbox that any thread fills, and one thread that steps the dispatcher.
class Scheduler::Core final : public ExecutorListener {
 public:
  Core(Topology topology, std::vector<int> worker_pus, std::unique_ptr<Dispatcher> dispatcher,
       ThreadExecutor::Params workers)
      : topology_(std::move(topology)),
        worker_pus_(std::move(worker_pus)),
        classes_(dispatcher->pool().classes().begin(), dispatcher->pool().classes().end()),
        executor_(std::move(workers)),
        dispatcher_(std::move(dispatcher)) {}

  Status Launch() {
    GOPMILL_RETURN_IF_ERROR(executor_.Launch(*this));
    placements_ = executor_.Placements();
    const auto run = [this] {
      pthread_setname_np(pthread_self(), "dispatcher");
      Loop();
    };
    GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread(run));
    return OkStatus();
  }

  // Submit and OnFinished decide on their caller's thread unless somebody is at it already: a
  // worker that had to wait for another thread to get a CPU would stand still for as long (a tick,
  // on a busy machine).
  Status Submit(const JobSpec& spec, std::unique_ptr<Job> job) {
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

  void OnFinished(const JobReport& report, std::unique_ptr<Job> job) override {
    {
      const MutexLock lock(inbox_mutex_);
      inbox_.emplace_back(JobFinished{report, std::move(job)});
      if (std::exchange(driven_, true)) return;
    }
    Drive(kMaxEventsOfOthers);
  }

  void Cancel(StreamId stream) {
    {
      const MutexLock lock(inbox_mutex_);
      if (!open_) return;
      inbox_.emplace_back(StreamCancelled{stream});
      if (driven_) return;
    }
    changed_.NotifyOne();
  }

  // First those that come back, so that there is always one. A change that is none is ignored.
  void SetInService(int workers) {
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

  void Shutdown() {
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

  SchedulerStats Stats(bool with_runs) const;
  int worker_count() const { return static_cast<int>(placements_.size()); }
  int in_service() const { return in_service_; }
  const Topology& topology() const { return topology_; }
  std::span<const ServiceClass> classes() const { return classes_; }

 private:
  // What a thread that stops driving has left to do.
  struct Leaving {
    std::vector<WorkerId> started;  // are to be woken
    bool wake_dispatcher = false;
  };

  // Handles events until there are none, or until `most` were handled: the dispatcher's thread goes
  // on with the rest. One thread at a time: the one that set driven_. It wakes nobody before it has
  // stopped, because who is woken may take its CPU away, and then nobody could decide.
  void Drive(std::size_t most) {
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
  bool TakeInbox(bool more, Leaving& leaving) {
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

  // Only while nobody drives.
  bool EventsWait() const GOPMILL_REQUIRES(inbox_mutex_) {
    return next_event_ < events_.size() || !inbox_.empty();
  }

  enum class Task { kReport, kDrive, kEnd };

  void Loop() {
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
  Task NextTask(std::vector<ReportAction>& reports) {
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

  bool Empty() const {
    const MutexLock lock(state_mutex_);
    return dispatcher_->empty();
  }

  void StepAndAct(DispatcherEvent event) {
    std::vector<DispatcherAction>& actions = actions_;
    Step(std::move(event), actions);
    // Answers to recalls add to the list while we walk it.
    for (std::size_t i = 0; i < actions.size(); ++i) {
      DispatcherAction action = std::move(actions[i]);
      std::visit([this](auto& a) { this->Act(a); }, action);
    }
    actions.clear();
  }

  void Step(DispatcherEvent event, std::vector<DispatcherAction>& actions) {
    const MutexLock lock(state_mutex_);
    dispatcher_->Step(std::move(event), SteadyNow(), actions);
  }

  void Act(StartAction& action) {
    executor_.Start(action.worker, std::move(action.ticket));
    started_.push_back(action.worker);
  }
  void Act(RecallAction& action) {
    std::optional<Ticket> ticket = executor_.TryRecall(action.worker, action.unit);
    Step(JobRecalled{action.worker, action.unit, ticket ? std::move(ticket->job) : nullptr},
         actions_);
  }
  // Delivered by the dispatcher's thread: whoever submits may hold locks that a report needs.
  void Act(ReportAction& action) { reports_.push_back(std::move(action)); }

  WorkerStats StatsOf(const WorkerPlacement& placement, bool with_runs) const
      GOPMILL_REQUIRES(state_mutex_);
  std::vector<ClassStats> ClassesNow() const GOPMILL_REQUIRES(state_mutex_);

  const Topology topology_;
  const std::vector<int> worker_pus_;  // by worker, index in topology_.pus()
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

namespace {

int WorkerCount(const SchedulerOptions& options, const Topology& topology) {
  return options.workers > 0 ? options.workers
                             : DefaultWorkerCount(topology, CgroupCpuQuota(CgroupPaths{}));
}

// The options with their texts applied.
Result<PolicyOptions> ResolveOptions(const SchedulerOptions& options, int workers) {
  PolicyOptions resolved = options.policy_options;
  GOPMILL_RETURN_IF_ERROR(ParsePolicyOptions(options.rules, workers, resolved));
  if (!options.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(resolved.classes, ParseClasses(options.classes));
  }
  GOPMILL_RETURN_IF_ERROR(ValidateClasses(resolved.classes));
  GOPMILL_RETURN_IF_ERROR(CheckGuarantees(resolved.classes, workers));
  return resolved;
}

std::unique_ptr<PoolState> MakePool(int run_queue_units, const PolicyOptions& options,
                                    const Topology& topology, std::span<const int> worker_pus) {
  return std::make_unique<PoolState>(
      topology, worker_pus,
      PoolState::Params{.run_queue_units = run_queue_units, .options = options});
}

}  // namespace

Result<WorkerId> HomeOf(StreamId stream, const SchedulerOptions& options,
                        const Topology& topology) {
  GOPMILL_RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<int> worker_pus = LayOutWorkers(topology, WorkerCount(options, topology));
  GOPMILL_ASSIGN_OR_RETURN(const PolicyOptions resolved,
                           ResolveOptions(options, static_cast<int>(worker_pus.size())));
  const auto pool = MakePool(options.run_queue_units, resolved, topology, worker_pus);
  GOPMILL_ASSIGN_OR_RETURN(const std::unique_ptr<Policy> policy,
                           MakePolicy(options.policy, resolved, *pool));
  return policy->Home(stream, *pool).worker;
}

Result<std::unique_ptr<Scheduler>> Scheduler::Create(const SchedulerOptions& options,
                                                     const Topology& topology,
                                                     WorkerLocalFactory make_local) {
  GOPMILL_RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<int> worker_pus = LayOutWorkers(topology, WorkerCount(options, topology));
  GOPMILL_ASSIGN_OR_RETURN(const PolicyOptions resolved,
                           ResolveOptions(options, static_cast<int>(worker_pus.size())));
  auto pool = MakePool(options.run_queue_units, resolved, topology, worker_pus);
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy,
                           MakePolicy(options.policy, resolved, *pool));
  ThreadExecutor::Params workers{
      .pu_os_indices = {}, .pin = options.pin, .make_local = std::move(make_local)};
  for (const int pu : worker_pus) workers.pu_os_indices.push_back(topology.pu(pu).os_index);
  auto dispatcher = std::make_unique<Dispatcher>(std::move(pool), std::move(policy), &SteadyNow);
  auto core =
      std::make_unique<Core>(topology, worker_pus, std::move(dispatcher), std::move(workers));
  GOPMILL_RETURN_IF_ERROR(core->Launch());
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(core)));
}

Scheduler::Scheduler(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Scheduler::~Scheduler() { Shutdown(); }

Status Scheduler::Submit(const JobSpec& spec, std::unique_ptr<Job> job) {
  if (job == nullptr || spec.cost_bytes == 0) {
    return InvalidArgument("cost_bytes", "A job needs something to run and a cost.",
                           "1 byte or more");
  }
  return core_->Submit(spec, std::move(job));
}

void Scheduler::Cancel(StreamId stream) { core_->Cancel(stream); }
void Scheduler::SetInService(int workers) { core_->SetInService(workers); }
void Scheduler::Shutdown() { core_->Shutdown(); }
SchedulerStats Scheduler::Stats() const { return core_->Stats(false); }
SchedulerStats Scheduler::StatsWithRuns() const { return core_->Stats(true); }
int Scheduler::worker_count() const { return core_->worker_count(); }
int Scheduler::in_service() const { return core_->in_service(); }
std::span<const ServiceClass> Scheduler::classes() const { return core_->classes(); }

TimePoint Scheduler::DeadlineOf(std::uint16_t service_class) const {
  const Duration within = classes()[service_class].deadline;
  return within > Duration::zero() ? SteadyNow() + within : kNoDeadline;
}

Result<std::uint16_t> Scheduler::ClassOf(const std::string& name) const {
  std::string names;
  for (std::size_t i = 0; i < classes().size(); ++i) {
    if (name.empty() || classes()[i].name == name) return static_cast<std::uint16_t>(i);
    names += (names.empty() ? "" : ", ") + classes()[i].name;
  }
  return InvalidArgument("class", "There is no service class \"" + name + "\".", names);
}

const Topology& Scheduler::topology() const { return core_->topology(); }

}  // namespace gopmill
