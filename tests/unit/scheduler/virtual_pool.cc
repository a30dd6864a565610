// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/scheduler/virtual_pool.h"

#include <algorithm>
#include <utility>

#include "scheduler/topology_hwloc.h"
#include "scheduler/worker_layout.h"

namespace gopmill {
namespace {

// Does nothing but remember how it was reported.
class RecordingJob final : public Job {
 public:
  explicit RecordingJob(std::shared_ptr<std::vector<JobReport>> reports)
      : reports_(std::move(reports)) {}
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override { return JobOutcome::kDone; }
  void OnReport(const JobReport& report) noexcept override { reports_->push_back(report); }

 private:
  std::shared_ptr<std::vector<JobReport>> reports_;
};

}  // namespace

Topology SyntheticTopology(const std::string& description) {
  Result<Topology> topology = TopologyFromSynthetic(description);
  GOPMILL_CHECK(topology.ok());
  return std::move(topology).value();
}

VirtualPool::VirtualPool(const VirtualPoolParams& params) {
  const Topology topology = SyntheticTopology(params.topology);
  const int count = params.workers > 0 ? params.workers : topology.pu_count();
  auto pool = std::make_unique<PoolState>(
      topology, LayOutWorkers(topology, count),
      PoolState::Params{.run_queue_units = params.run_queue_units, .options = params.options});
  std::unique_ptr<Policy> policy;
  if (params.make_policy) {
    policy = params.make_policy(*pool);
  } else {
    Result<std::unique_ptr<Policy>> made = MakePolicy(params.policy, params.options, *pool);
    GOPMILL_CHECK(made.ok());
    policy = std::move(made).value();
  }
  dispatcher_ = std::make_unique<Dispatcher>(std::move(pool), std::move(policy), nullptr);
  workers_.resize(static_cast<std::size_t>(count));
}

void VirtualPool::Submit(std::uint64_t stream, std::int64_t index, std::size_t bytes) {
  const std::uint64_t number =
      stream_numbers_.try_emplace(stream, stream_numbers_.size()).first->second;
  JobSpec spec{
      .unit = {StreamId{stream}, UnitIndex{index}}, .stream_number = number, .cost_bytes = bytes};
  complete_spec(spec);
  Step(
      JobArrived{.spec = spec, .job = std::make_unique<RecordingJob>(reports_), .submitted = now_});
}

void VirtualPool::Cancel(std::uint64_t stream) { Step(StreamCancelled{StreamId{stream}}); }
void VirtualPool::Shutdown() { Step(AllCancelled{}); }
void VirtualPool::SetAvailable(int worker, bool available) {
  Step(WorkersChanged{WorkerId{worker}, available});
}

bool VirtualPool::FinishNext() {
  const int next = NextDone();
  if (next >= 0) FinishOn(next);
  return next >= 0;
}

void VirtualPool::FinishUntil(TimePoint time) {
  for (int w = NextDone(); w >= 0; w = NextDone()) {
    if (workers_[static_cast<std::size_t>(w)].done_at > time) break;
    FinishOn(w);
  }
  now_ = std::max(now_, time);
}

int VirtualPool::NextDone() const {
  int next = -1;
  const auto done_at = [&](int w) { return workers_[static_cast<std::size_t>(w)].done_at; };
  for (int w = 0; w < worker_count(); ++w) {
    if (busy(w) && (next < 0 || done_at(w) < done_at(next))) next = w;
  }
  return next;
}

void VirtualPool::FinishOn(int index) {
  VirtualWorker& worker = workers_[static_cast<std::size_t>(index)];
  GOPMILL_CHECK(worker.running.has_value());
  now_ = std::max(now_, worker.done_at);
  Ticket ticket = std::move(*worker.running);
  worker.running.reset();
  ticket.report.outcome = outcome(ticket);
  ticket.report.finished = now_;
  ++runs_[ticket.report.unit];
  if (on_run) on_run(ticket.report);
  // A real worker goes on with its inbox without waiting for the dispatcher.
  BeginNext(worker);
  if (ticket.report.outcome == JobOutcome::kFailed && ticket.may_retry) {
    Step(JobFinished{ticket.report, std::move(ticket.job)});
    return;
  }
  ticket.job->OnReport(ticket.report);
  Step(JobFinished{ticket.report, nullptr});
}

int VirtualPool::WorkerOf(std::uint64_t stream, std::int64_t index) const {
  const UnitId unit{StreamId{stream}, UnitIndex{index}};
  const auto found = std::find_if(assignments_.rbegin(), assignments_.rend(),
                                  [&](const Assignment& a) { return a.unit == unit; });
  return found == assignments_.rend() ? -1 : found->worker;
}

std::vector<JobReport> VirtualPool::ReportsOf(std::uint64_t stream, std::int64_t index) const {
  const UnitId unit{StreamId{stream}, UnitIndex{index}};
  std::vector<JobReport> found;
  std::ranges::copy_if(*reports_, std::back_inserter(found),
                       [&](const JobReport& report) { return report.unit == unit; });
  return found;
}

int VirtualPool::runs(UnitId unit) const {
  const auto found = runs_.find(unit);
  return found == runs_.end() ? 0 : found->second;
}

int VirtualPool::busy_workers() const {
  return static_cast<int>(
      std::ranges::count_if(workers_, [](const auto& w) { return w.running.has_value(); }));
}

void VirtualPool::Step(DispatcherEvent event) {
  std::vector<DispatcherAction> actions;
  dispatcher_->Step(std::move(event), now_, actions);
  for (DispatcherAction& action : actions) {
    std::visit([this](auto& a) { this->Act(a); }, action);
  }
}

void VirtualPool::Act(StartAction& action) {
  const JobReport& report = action.ticket.report;
  assignments_.push_back({report.unit, action.worker.value, report.home.value, now_});
  VirtualWorker& worker = workers_[static_cast<std::size_t>(action.worker.value)];
  worker.inbox.push_back(std::move(action.ticket));
  if (on_assigned) on_assigned(report.unit, action.worker, report.home);
  if (!worker.running) BeginNext(worker);
}

void VirtualPool::Act(RecallAction& action) {
  auto& inbox = workers_[static_cast<std::size_t>(action.worker.value)].inbox;
  const auto found = std::ranges::find_if(
      inbox, [&](const Ticket& ticket) { return ticket.report.unit == action.unit; });
  JobRecalled answer{.worker = action.worker, .unit = action.unit, .job = nullptr};
  if (found != inbox.end()) {
    answer.job = std::move(found->job);
    inbox.erase(found);
  }
  Step(std::move(answer));
}

void VirtualPool::Act(ReportAction& action) { action.job->OnReport(action.report); }

void VirtualPool::BeginNext(VirtualWorker& worker) {
  if (worker.inbox.empty()) return;
  worker.running = std::move(worker.inbox.front());
  worker.inbox.pop_front();
  JobReport& report = worker.running->report;
  report.started = now_;
  report.opening = opening_time(*worker.running);
  report.cold = report.opening > Duration{};
  worker.done_at = now_ + report.opening + service_time(*worker.running);
}

}  // namespace gopmill
