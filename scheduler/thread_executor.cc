// SPDX-License-Identifier: Apache-2.0
#include "scheduler/thread_executor.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/cpu_mask.h"
#include "base/thread.h"

namespace gopmill {
namespace {

// Lets the calling thread run on every PU of the workers while it lives, then on its own again.
class AcrossWorkers {
 public:
  AcrossWorkers(const std::vector<int>& pus, int own) {
    CpuMask all;
    for (const int pu : pus) {
      if (pu >= 0 && pu < CpuMask::kCpus) all.Add(pu);
    }
    own_.Add(own);
    spread_ = all.Apply();
  }
  ~AcrossWorkers() {
    // Where the kernel refuses what it allowed before, the thread stays spread.
    if (spread_) static_cast<void>(own_.Apply());
  }
  AcrossWorkers(const AcrossWorkers&) = delete;
  AcrossWorkers& operator=(const AcrossWorkers&) = delete;

 private:
  CpuMask own_;
  bool spread_ = false;
};

// Pins the calling thread; an empty string if it is where it should be afterwards.
std::string PinToPu(int os_index) {
  if (os_index < 0 || os_index >= CpuMask::kCpus) return "no such PU on this machine";
  CpuMask wanted;
  wanted.Add(os_index);
  if (!wanted.Apply()) return std::string("the kernel refused: ") + std::strerror(errno);
  const std::optional<CpuMask> actual = CpuMask::OfThisThread();
  if (!actual) return std::string("the mask cannot be read back: ") + std::strerror(errno);
  const bool only = actual->count() == 1 && actual->Holds(os_index);
  return only ? "" : "the mask read back is another one";
}

}  // namespace

class ThreadExecutor::Worker {
 public:
  Worker(WorkerId id, int pu_os_index)
      : placement_{.worker = id, .pu_os_index = pu_os_index, .pinned = false, .warning = {}} {}

  Status Launch(const Params& params, ExecutorListener& listener, std::latch& in_place) {
    const auto run = [this, &params, &listener, &in_place] {
      TakePlace(params.pin);
      in_place.count_down();
      Loop(params, listener);
    };
    GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread(run));
    return OkStatus();
  }

  void Push(Ticket ticket) {
    const MutexLock lock(mutex_);
    inbox_.push_back(std::move(ticket));
  }

  void Wake() {
    {
      const MutexLock lock(mutex_);
      if (!sleeping_) return;
    }
    arrived_.NotifyOne();
  }

  std::optional<Ticket> TakeBack(UnitId unit) {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find_if(
        inbox_, [&](const Ticket& ticket) { return ticket.report.unit == unit; });
    if (found == inbox_.end()) return std::nullopt;
    std::optional<Ticket> ticket = std::move(*found);
    inbox_.erase(found);
    return ticket;
  }

  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    arrived_.NotifyOne();
  }
  WorkerTimes Times() const {
    const MutexLock lock(mutex_);
    return {.busy = running_since_ ? busy_ + (SteadyNow() - *running_since_) : busy_,
            .running_since = running_since_};
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  const WorkerPlacement& placement() const { return placement_; }

 private:
  void TakePlace(bool pin) {
    const std::string name = "worker-" + std::to_string(placement_.worker.value);
    pthread_setname_np(pthread_self(), name.c_str());
    if (!pin) return;
    placement_.warning = PinToPu(placement_.pu_os_index);
    placement_.pinned = placement_.warning.empty();
  }

  void Loop(const Params& params, ExecutorListener& listener) {
    // Made, used and destroyed on this thread.
    const std::unique_ptr<WorkerLocal> local =
        params.make_local ? params.make_local(placement_.worker) : nullptr;
    WorkerContext context{.id = placement_.worker, .local = local.get()};
    while (true) {
      while (local && Idle() && local->OnIdle()) {
      }
      std::optional<Ticket> ticket = Next();
      if (!ticket) return;
      RunTicket(*ticket, params.pu_os_indices, context, listener);
    }
  }

  bool Idle() {
    const MutexLock lock(mutex_);
    return inbox_.empty() && !closed_;
  }

  std::optional<Ticket> Next() {
    const MutexLock lock(mutex_);
    while (inbox_.empty() && !closed_) {
      sleeping_ = true;
      arrived_.Wait(mutex_);
      sleeping_ = false;
    }
    if (inbox_.empty()) return std::nullopt;
    std::optional<Ticket> ticket = std::move(inbox_.front());
    inbox_.pop_front();
    return ticket;
  }

  TimePoint BeginRun() {
    const MutexLock lock(mutex_);
    return running_since_.emplace(SteadyNow());
  }
  TimePoint EndRun() {
    const MutexLock lock(mutex_);
    const TimePoint now = SteadyNow();
    busy_ += now - *running_since_;
    running_since_.reset();
    return now;
  }

  JobOutcome RunJob(Job& job, const std::vector<int>& pus, WorkerContext& context) const {
    std::optional<AcrossWorkers> across;
    if (placement_.pinned && job.spreads()) across.emplace(pus, placement_.pu_os_index);
    return job.Run(context);
  }

  void RunTicket(Ticket& ticket, const std::vector<int>& pus, WorkerContext& context,
                 ExecutorListener& listener) {
    JobReport& report = ticket.report;
    report.started = BeginRun();
    const Duration cpu_before = ThreadCpuNow();
    context.cold = false;
    context.opening = {};
    report.outcome = RunJob(*ticket.job, pus, context);
    report.cold = context.cold;
    report.opening = context.opening;
    report.cpu = ThreadCpuNow() - cpu_before;
    report.finished = EndRun();
    if (report.outcome == JobOutcome::kFailed && ticket.may_retry) {
      listener.OnFinished(report, std::move(ticket.job));
      return;
    }
    // The dispatcher first: it finds the next unit for this worker while the report is delivered.
    listener.OnFinished(report, nullptr);
    ticket.job->OnReport(report);
    ticket.job.reset();
  }

  WorkerPlacement placement_;  // written by the thread before Launch returns, constant afterwards
  mutable Mutex mutex_;        // guards the inbox and the times
  std::deque<Ticket> inbox_ GOPMILL_GUARDED_BY(mutex_);
  bool sleeping_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool closed_ GOPMILL_GUARDED_BY(mutex_) = false;
  Duration busy_ GOPMILL_GUARDED_BY(mutex_){};  // inside runs that are over
  std::optional<TimePoint> running_since_ GOPMILL_GUARDED_BY(mutex_);
  CondVar arrived_;
  std::jthread thread_;
};

ThreadExecutor::ThreadExecutor(Params params) : params_(std::move(params)) {}

ThreadExecutor::~ThreadExecutor() { Stop(); }

Status ThreadExecutor::Launch(ExecutorListener& listener) {
  in_place_ =
      std::make_unique<std::latch>(static_cast<std::ptrdiff_t>(params_.pu_os_indices.size()));
  for (std::size_t i = 0; i < params_.pu_os_indices.size(); ++i) {
    auto worker =
        std::make_unique<Worker>(WorkerId{static_cast<std::int32_t>(i)}, params_.pu_os_indices[i]);
    if (Status launched = worker->Launch(params_, listener, *in_place_); !launched.ok()) {
      Stop();
      return launched;
    }
    workers_.push_back(std::move(worker));
  }
  in_place_->wait();
  return OkStatus();
}

void ThreadExecutor::Start(WorkerId worker, Ticket ticket) {
  workers_[static_cast<std::size_t>(worker.value)]->Push(std::move(ticket));
}

void ThreadExecutor::Wake(WorkerId worker) {
  workers_[static_cast<std::size_t>(worker.value)]->Wake();
}

std::optional<Ticket> ThreadExecutor::TryRecall(WorkerId worker, UnitId unit) {
  return workers_[static_cast<std::size_t>(worker.value)]->TakeBack(unit);
}

void ThreadExecutor::Stop() {
  for (const auto& worker : workers_) worker->Close();
  for (const auto& worker : workers_) worker->Join();
}

WorkerTimes ThreadExecutor::Times(WorkerId worker) const {
  return workers_[static_cast<std::size_t>(worker.value)]->Times();
}

std::vector<WorkerPlacement> ThreadExecutor::Placements() const {
  std::vector<WorkerPlacement> placements;
  for (const auto& worker : workers_) placements.push_back(worker->placement());
  return placements;
}

}  // namespace gopmill
