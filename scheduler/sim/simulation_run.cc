// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "scheduler/units_out.h"

namespace gopmill::sim {
namespace {

TimePoint At(double ms) { return TimePoint(Duration(std::llround(ms * 1e6))); }
double Millis(TimePoint t) { return ToMillis(t.time_since_epoch()); }

// Stands for a unit in the dispatcher.
class SimJob final : public Job {
 public:
  SimJob(std::uint32_t stream_place, std::uint32_t unit_index)
      : stream(stream_place), index(unit_index) {}
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override { return JobOutcome::kDone; }
  void OnReport(const JobReport& /*report*/) noexcept override {}

  const std::uint32_t stream;  // place in Workload::streams
  const std::uint32_t index;   // within the stream
};

Duration DecisionTime(const SimulationParams& params) {
  return Duration(std::llround(params.decision_us * 1e3));
}

double ArrivalsStartMillis(const Workload& workload) {
  if (workload.feed == Feed::kClosed || workload.units.empty()) return 0;
  return std::ranges::min(workload.units, {}, &SimUnit::arrival_ms).arrival_ms;
}

}  // namespace

SimulationRun::SimulationRun(const SimulationParams& params, const Workload& workload,
                             std::unique_ptr<Dispatcher> dispatcher,
                             std::unique_ptr<CostModel> cost, int workers)
    : workload_(workload),
      dispatcher_(std::move(dispatcher), DecisionTime(params)),
      workers_(static_cast<std::size_t>(workers)),
      streams_(workload.streams.size()),
      changes_(params.changes),
      window_(
          static_cast<std::uint32_t>(workload.window > 0 ? workload.window : UnitsOut(workers))),
      start_ms_(ArrivalsStartMillis(workload)),
      arrivals_(workload),
      cost_(std::move(cost)),
      order_(workload),
      idle_(workers),
      shares_(workload, workers, params.share_window_ms) {}

Result<SimResult> SimulationRun::Run(const std::string& policy, const std::stop_token& stop) {
  const TimePoint started = SteadyNow();
  while (next_change_ < changes_.size() && At(changes_[next_change_].at_ms) <= now_) {
    Change(changes_[next_change_++]);
  }
  if (workload_.feed == Feed::kClosed) StartStreams();
  while (StepOnce()) {
    if (stop.stop_requested()) return Cancelled();
  }
  SimResult result = Sum();
  result.policy = policy;
  result.run_seconds = ToSeconds(SteadyNow() - started);
  return result;
}

// --- Feeding -----------------------------------------------------------------------------------
void SimulationRun::StartStreams() {
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(workload_.concurrent),
                                           workload_.streams.size());
  // Unit by unit over all streams, as parallel ingests would deliver them.
  std::vector<std::uint32_t> open(count);
  std::iota(open.begin(), open.end(), 0U);
  std::erase_if(open, [&](std::uint32_t s) { return workload_.streams[s].begin_ms > 0; });
  next_stream_ = count;
  for (std::uint32_t i = 0; i < window_ && !open.empty(); ++i) {
    std::erase_if(open, [&](std::uint32_t s) { return workload_.streams[s].unit_count <= i; });
    for (const std::uint32_t s : open) Submit(s);
  }
}

void SimulationRun::OpenNextStream() {
  if (next_stream_ >= workload_.streams.size()) return;
  OpenStream(static_cast<std::uint32_t>(next_stream_++));
}

void SimulationRun::OpenStream(std::uint32_t stream) {
  const std::uint32_t count = std::min(window_, workload_.streams[stream].unit_count);
  for (std::uint32_t i = 0; i < count; ++i) Submit(stream);
}

void SimulationRun::Submit(std::uint32_t s) {
  const SimStream& stream = workload_.streams[s];
  const std::uint32_t index = streams_[s].submitted++;
  const SimUnit& unit = workload_.units[stream.first_unit + index];
  idle_.Waiting(+1, Millis(now_));
  shares_.Waiting(stream.service_class, +1, Millis(now_));
  Step(JobArrived{.spec = SpecOf(s, index, unit),
                  .job = std::make_unique<SimJob>(s, index),
                  .submitted = now_});
}

JobSpec SimulationRun::SpecOf(std::uint32_t s, std::uint32_t index, const SimUnit& unit) const {
  const SimStream& stream = workload_.streams[s];
  const std::uint32_t place =
      workload_.places.empty() ? index : workload_.places[stream.first_unit + index];
  return {.unit = {stream.id, UnitIndex{place}},
          .stream_number = stream.number,
          .cost_bytes = unit.bytes,
          .frames = unit.frames,
          .service_class = static_cast<std::uint16_t>(stream.service_class),
          .context = unit.context,
          .deadline = DeadlineOf(stream, unit, now_)};
}

TimePoint SimulationRun::DeadlineOf(const SimStream& stream, const SimUnit& unit,
                                    TimePoint submitted) const {
  if (std::isfinite(unit.deadline_ms)) return At(unit.deadline_ms);
  const Duration within = ClassDeadline(workload_, stream);
  return within > Duration::zero() ? submitted + within : kNoDeadline;
}

// --- The event loop ----------------------------------------------------------------------------
bool SimulationRun::StepOnce() {
  const ArrivalOrder::Arrival* arrival = arrivals_.Peek();
  if (ChangeIsNext(arrival)) {
    Change(changes_[next_change_++]);
    return true;
  }
  if (arrival != nullptr && (completions_.empty() || At(arrival->at_ms) < completions_.top().at)) {
    now_ = std::max(now_, At(arrival->at_ms));
    const std::uint32_t stream = arrival->stream;
    arrivals_.Pop();
    workload_.feed == Feed::kClosed ? OpenStream(stream) : Submit(stream);
    return true;
  }
  if (completions_.empty()) return false;
  const Completion done = completions_.top();
  completions_.pop();
  now_ = done.at;
  if (done.worker == kDispatcher) {
    Dispatch();
  } else {
    Finish(done.worker);
  }
  return true;
}

bool SimulationRun::ChangeIsNext(const ArrivalOrder::Arrival* arrival) const {
  if (next_change_ == changes_.size() || finished_ == workload_.units.size()) return false;
  const TimePoint at = At(changes_[next_change_].at_ms);
  const bool before_arrival = arrival == nullptr || at <= At(arrival->at_ms);
  return before_arrival && (completions_.empty() || at <= completions_.top().at);
}

void SimulationRun::Change(const WorkerChange& change) {
  now_ = std::max(now_, At(change.at_ms));
  Worker& worker = workers_[static_cast<std::size_t>(change.worker)];
  worker.available = change.available;
  Count(worker);
  Step(WorkersChanged{WorkerId{change.worker}, change.available});
}

void SimulationRun::Count(Worker& worker) {
  const bool idle = worker.available && worker.running == nullptr;
  const bool out = !worker.available && worker.running == nullptr;
  if (idle != worker.is_idle) idle_.Idle(idle ? +1 : -1, Millis(now_));
  if (out && !worker.is_out) worker.out_since = now_;
  if (!out && worker.is_out) worker.out_ms += OutMillis(worker);
  worker.is_idle = idle;
  worker.is_out = out;
}

void SimulationRun::Finish(int index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const std::unique_ptr<Ticket> ticket = std::move(worker.running);
  const auto& job = static_cast<const SimJob&>(*ticket->job);
  JobReport& report = ticket->report;
  report.outcome = JobOutcome::kDone;
  report.finished = now_;
  const double began_ms = Millis(worker.began);
  const double now_ms = Millis(now_);
  worker.busy_ms += now_ms - began_ms;
  const SimStream& stream = workload_.streams[job.stream];
  shares_.Ran(stream.service_class, began_ms, now_ms);
  const double submitted_ms = Millis(report.submitted);
  order_.Finished(job.stream, job.index, submitted_ms, now_ms);
  CountDeadline(
      DeadlineOf(stream, workload_.units[stream.first_unit + job.index], report.submitted));
  const std::uint32_t stream_place = job.stream;
  ++finished_;
  Count(worker);
  BeginNext(index);
  Step(JobFinished{report, nullptr});
  Continue(stream_place);
}

void SimulationRun::Continue(std::uint32_t s) {
  StreamState& state = streams_[s];
  ++state.finished;
  if (workload_.feed != Feed::kClosed) return;
  if (state.submitted < workload_.streams[s].unit_count) Submit(s);
  if (state.finished == workload_.streams[s].unit_count) OpenNextStream();
}

void SimulationRun::CountDeadline(TimePoint deadline) {
  if (deadline == kNoDeadline) return;
  ++deadlines_;
  if (now_ > deadline) ++missed_;
}

void SimulationRun::BeginNext(int index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  if (worker.inbox.empty()) return;
  worker.running = std::make_unique<Ticket>(std::move(worker.inbox.front()));
  worker.inbox.pop_front();
  const auto& job = static_cast<const SimJob&>(*worker.running->job);
  const SimStream& stream = workload_.streams[job.stream];
  const SimUnit& unit = workload_.units[stream.first_unit + job.index];
  StreamState& state = streams_[job.stream];
  const RunCost cost = cost_->Begin({.now_ms = Millis(now_),
                                     .stream = job.stream,
                                     .worker = index,
                                     .last_worker = state.last_worker,
                                     .context = unit.context,
                                     .service_class = stream.service_class,
                                     .hot_ms = unit.hot_ms,
                                     .open_ms = unit.open_ms});
  state.last_worker = index;
  useful_ms_ += unit.hot_ms;
  reload_ += cost.reload;
  wait_ms_ += Millis(now_) - Millis(worker.running->report.submitted);
  if (cost.cold) ++cold_;
  worker.running->report.cold = cost.cold;
  if (cost.cold) worker.running->report.opening = Duration(std::llround(unit.open_ms * 1e6));
  if (worker.running->report.home.value != index) ++elsewhere_;
  worker.began = now_;
  worker.running->report.started = now_;
  Count(worker);
  idle_.Waiting(-1, Millis(now_));
  shares_.Waiting(stream.service_class, -1, Millis(now_));
  // A run takes time, however little, so that the clock moves.
  const Duration takes = std::max(Duration(1), Duration(std::llround(cost.total_ms * 1e6)));
  completions_.push({now_ + takes, sequence_++, index});
}

// --- The dispatcher ----------------------------------------------------------------------------
void SimulationRun::Step(DispatcherEvent event) {
  dispatcher_.Add(std::move(event));
  Dispatch();
}

void SimulationRun::Dispatch() {
  while (std::optional<DispatcherAction> action = dispatcher_.Next(now_)) {
    std::visit([this](auto& a) { this->Act(a); }, *action);
  }
  if (!dispatcher_.due() || dispatcher_.due() == awaited_) return;
  awaited_ = dispatcher_.due();
  completions_.push({*awaited_, sequence_++, kDispatcher});
}

void SimulationRun::Act(StartAction& action) {
  Worker& worker = workers_[static_cast<std::size_t>(action.worker.value)];
  worker.inbox.push_back(std::move(action.ticket));
  if (worker.running == nullptr) BeginNext(action.worker.value);
}

void SimulationRun::Act(RecallAction& action) {
  auto& inbox = workers_[static_cast<std::size_t>(action.worker.value)].inbox;
  const auto found = std::ranges::find_if(
      inbox, [&](const Ticket& ticket) { return ticket.report.unit == action.unit; });
  JobRecalled answer{.worker = action.worker, .unit = action.unit, .job = nullptr};
  if (found != inbox.end()) {
    answer.job = std::move(found->job);
    inbox.erase(found);
  }
  dispatcher_.Add(std::move(answer));
}

void SimulationRun::Act(ReportAction& action) { action.job->OnReport(action.report); }

// --- The sum -----------------------------------------------------------------------------------
SimResult SimulationRun::Sum() {
  SimResult result;
  result.workers = static_cast<int>(workers_.size());
  for (const ServiceClass& service_class : workload_.classes) {
    result.classes.push_back({.name = service_class.name, .weight = service_class.weight});
  }
  for (const SimStream& stream : workload_.streams) {
    result.classes[static_cast<std::size_t>(stream.service_class)].units += stream.unit_count;
  }
  order_.AddTo(result);
  shares_.AddTo(result);
  AddTimes(result);
  const auto units = static_cast<double>(std::max<std::uint64_t>(1, result.units));
  result.disruption = static_cast<double>(elsewhere_) / units;
  result.hit_rate = 1 - static_cast<double>(cold_) / units;
  result.mean_wait_ms = wait_ms_ / units;
  result.reload = reload_ / units;
  double busy_ms = 0;
  for (const Worker& worker : workers_) busy_ms += worker.busy_ms;
  result.mean_service_ms = busy_ms / units;
  result.deadlines = deadlines_;
  if (deadlines_ > 0) {
    result.deadline_misses = static_cast<double>(missed_) / static_cast<double>(deadlines_);
  }
  result.decision_us = ToSeconds(dispatcher_.dispatcher().counters().decision_time) * 1e6 / units;
  return result;
}

void SimulationRun::AddTimes(SimResult& result) {
  result.makespan_ms = std::max(1e-6, Millis(now_) - start_ms_);
  const double capacity_ms = std::max(1e-6, result.makespan_ms * result.workers - OutMillis());
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const Worker& worker : workers_) {
    result.worker_utilisation.push_back(worker.busy_ms / result.makespan_ms);
    result.utilisation += worker.busy_ms / capacity_ms;
    least = std::min(least, worker.busy_ms);
    most = std::max(most, worker.busy_ms);
  }
  result.imbalance = most > 0 ? (most - least) / most : 0;
  result.gops_per_second = static_cast<double>(result.units) * 1000 / result.makespan_ms;
  result.useful = useful_ms_ / capacity_ms;
  result.idle_waiting_share = idle_.worker_ms() / capacity_ms;
  result.idle_waiting_longest_ms = idle_.longest_ms();
}

double SimulationRun::OutMillis(const Worker& worker) const {
  return std::max(0.0, Millis(now_) - std::max(start_ms_, Millis(worker.out_since)));
}

double SimulationRun::OutMillis() const {
  double sum = 0;
  for (const Worker& worker : workers_) {
    sum += worker.out_ms + (worker.is_out ? OutMillis(worker) : 0);
  }
  return sum;
}

}  // namespace gopmill::sim
