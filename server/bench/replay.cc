// SPDX-License-Identifier: Apache-2.0
#include "server/bench/replay.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "scheduler/sim/trace_workload.h"
#include "scheduler/topology_hwloc.h"

namespace gopmill::bench {
namespace {

Duration FromMillis(double ms) { return FromSeconds(ms * 1e-3); }

// What has been reported, and whether that is all.
class Reports {
 public:
  explicit Reports(std::size_t expected) : expected_(expected) {}
  void Add(const JobSpec& spec, const JobReport& report) {
    const MutexLock lock(mutex_);
    samples_.push_back({.life = {.spec = spec, .report = report, .stats = {}}, .released = {}});
    if (samples_.size() == expected_) complete_.NotifyAll();
  }
  bool WaitFor(std::chrono::milliseconds timeout) {
    const MutexLock lock(mutex_);
    if (samples_.size() < expected_) complete_.WaitFor(mutex_, timeout);
    return samples_.size() >= expected_;
  }
  std::vector<UnitSample> Take() {
    const MutexLock lock(mutex_);
    return std::move(samples_);
  }

 private:
  const std::size_t expected_;
  Mutex mutex_;  // guards the samples
  CondVar complete_;
  std::vector<UnitSample> samples_ GOPMILL_GUARDED_BY(mutex_);
};

class BurnJob : public Job {
 public:
  BurnJob(const ReplayUnit& unit, JobSpec spec, const std::stop_token& stop, Reports& reports)
      : unit_(unit), spec_(spec), stop_(stop), reports_(reports) {}

  JobOutcome Run(WorkerContext& worker) noexcept override {
    const Duration begin = ThreadCpuNow();
    worker.cold = !static_cast<WarmContexts*>(worker.local)->Touch(unit_.spec.context);
    if (worker.cold) worker.opening = unit_.cold - std::min(unit_.cold, unit_.hot);
    const Duration end = begin + (worker.cold ? unit_.cold : unit_.hot);
    while (ThreadCpuNow() < end) {
      if (stop_.stop_requested()) return JobOutcome::kCancelled;
    }
    return JobOutcome::kDone;
  }
  void OnReport(const JobReport& report) noexcept override { reports_.Add(spec_, report); }

 private:
  const ReplayUnit& unit_;
  const JobSpec spec_;
  const std::stop_token& stop_;  // of the whole replay, as the unit is
  Reports& reports_;
};

Status SubmitAll(const std::vector<ReplayUnit>& units, TimePoint start, Scheduler& scheduler,
                 Reports& reports, const std::stop_token& stop) {
  for (const ReplayUnit& unit : units) {
    const TimePoint when = start + unit.arrival;
    if (when > SteadyNow() && !SleepUntil(when, stop)) return Interrupted();
    JobSpec spec = unit.spec;
    if (spec.deadline != kNoDeadline) spec.deadline = start + spec.deadline.time_since_epoch();
    GOPMILL_RETURN_IF_ERROR(
        scheduler.Submit(spec, std::make_unique<BurnJob>(unit, spec, stop, reports)));
  }
  return OkStatus();
}

// A unit is released when it and all before it have finished.
void SetReleased(std::vector<UnitSample>& units) {
  std::ranges::sort(units, {}, [](const UnitSample& unit) { return unit.life.report.unit; });
  const UnitSample* before = nullptr;
  for (UnitSample& unit : units) {
    const bool same =
        before != nullptr && before->life.report.unit.stream == unit.life.report.unit.stream;
    unit.released =
        same ? std::max(before->released, unit.life.report.finished) : unit.life.report.finished;
    before = &unit;
  }
}

RunRecord MakeRecord(const ReplayOptions& options, std::vector<UnitSample> units,
                     const SchedulerStats& stats) {
  RunRecord record;
  record.policy = options.policy;
  record.media = false;
  record.classes = options.classes;
  record.units = std::move(units);
  SetReleased(record.units);
  std::set<StreamId> streams;
  for (const UnitSample& unit : record.units) {
    streams.insert(unit.life.report.unit.stream);
    ++(unit.life.report.cold ? record.contexts.opened : record.contexts.warm);
  }
  for (const StreamId id : streams) {
    StreamSample stream;
    stream.id = id;
    stream.name = "recorded";
    record.streams.push_back(std::move(stream));
  }
  for (const WorkerStats& worker : stats.workers) {
    record.workers.push_back({.pu_os_index = worker.pu_os_index, .pinned = worker.pinned});
  }
  record.counters = stats;
  return record;
}

}  // namespace

Result<std::vector<ReplayUnit>> ReplayUnits(const RecordedTrace& trace,
                                            const std::vector<ServiceClass>& classes) {
  const double opening = MedianOpening(trace);
  const double begin_ms = FirstArrival(trace);
  std::vector<ReplayUnit> units;
  for (const TraceUnit& unit : trace.units) {
    const UnitTimes times = TimesOf(unit, opening);
    GOPMILL_ASSIGN_OR_RETURN(const int service_class,
                             sim::ClassOfTrace(unit.service_class, classes));
    JobSpec spec{.unit = {StreamId{unit.stream}, UnitIndex{unit.index}},
                 .stream_number = unit.number,
                 .cost_bytes = unit.bytes,
                 .frames = static_cast<std::uint32_t>(unit.frames),
                 .service_class = static_cast<std::uint16_t>(service_class),
                 .context = unit.context};
    if (unit.deadline_ms) spec.deadline = TimePoint(FromMillis(*unit.deadline_ms - begin_ms));
    units.push_back({.spec = spec,
                     .arrival = FromMillis(unit.arrival_ms - begin_ms),
                     .hot = FromMillis(times.hot_ms),
                     .cold = FromMillis(times.hot_ms + times.open_ms)});
  }
  return units;
}

bool WarmContexts::Touch(std::uint64_t context) {
  const auto found = std::ranges::find(contexts_, context);
  const bool warm = found != contexts_.end();
  if (warm) contexts_.erase(found);
  contexts_.push_front(context);
  if (contexts_.size() > capacity_) contexts_.pop_back();
  return warm;
}

Result<RunRecord> RunReplay(const ReplayOptions& options, const std::vector<ReplayUnit>& units,
                            const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(const Topology topology, DiscoverTopology({}));
  const auto contexts = static_cast<std::size_t>(options.contexts_per_worker);
  Reports reports(units.size());  // outlives the scheduler, which reports to it
  const CacheCounters cache;
  SchedulerOptions scheduling{.policy = options.policy,
                              .workers = options.workers,
                              .run_queue_units = options.run_queue_units};
  scheduling.policy_options.classes = options.classes;
  scheduling.rules = options.rules;
  scheduling.policy_options.contexts_per_worker = options.contexts_per_worker;
  GOPMILL_ASSIGN_OR_RETURN(const auto scheduler,
                           Scheduler::Create(scheduling, topology, [contexts](WorkerId) {
                             return std::make_unique<WarmContexts>(contexts);
                           }));
  const bool own_peak = ForgetPeak();
  const ProcessUsage before = UsageNow();
  const std::optional<double> busy_before = BusySeconds();
  const TimePoint start = SteadyNow();
  const Status submitted = SubmitAll(units, start, *scheduler, reports, stop);
  constexpr std::chrono::milliseconds kTick{100};
  while (submitted.ok() && !stop.stop_requested() && !reports.WaitFor(kTick)) {
  }
  const ProcessUsage usage = UsageNow() - before;
  const std::optional<double> others_s = OthersSeconds(busy_before, usage.cpu_seconds());
  scheduler->Shutdown();
  GOPMILL_RETURN_IF_ERROR(submitted);
  if (stop.stop_requested()) return Interrupted();
  RunRecord record = MakeRecord(options, reports.Take(), scheduler->Stats());
  record.start = start;
  // Not when this thread heard of it.
  record.end = start;
  for (const UnitSample& unit : record.units) {
    record.end = std::max(record.end, unit.life.report.finished);
  }
  record.usage = usage;
  if (own_peak) record.peak_bytes = usage.peak_bytes;
  record.others_s = others_s;
  record.cache = cache.Read();
  return record;
}

}  // namespace gopmill::bench
