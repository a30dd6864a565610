// SPDX-License-Identifier: Apache-2.0
#include "server/bench/measures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/order_stats.h"
#include "base/quantile.h"
#include "server/bench/served_shares.h"
#include "server/bench/statistics.h"

namespace gopmill::bench {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

// Where there is no whole, there is no share either.
double ShareIfAny(double part, double whole) { return whole > 0 ? part / whole : kNotMeasured; }

double QuantileIfAny(const std::vector<double>& values, double q) {
  return values.empty() ? kNotMeasured : Quantile(values, q);
}

void AddCores(const RunRecord& record, RunMeasures& measures) {
  for (const WorkerSample& worker : record.workers) {
    measures.cores.push_back({.pu_os_index = worker.pu_os_index});
  }
  for (const UnitSample& unit : record.units) {
    const auto worker = static_cast<std::size_t>(unit.life.report.worker.value);
    if (worker >= measures.cores.size()) continue;
    CoreMeasures& core = measures.cores[worker];
    ++core.units;
    core.busy_s += ToSeconds(unit.life.report.finished - unit.life.report.started);
    core.cpu_s += ToSeconds(unit.life.report.cpu + unit.life.stats.aside_cpu);
  }
  if (measures.cores.empty()) return;
  const auto [least, most] = std::ranges::minmax_element(measures.cores, {}, &CoreMeasures::busy_s);
  measures.imbalance = Share(most->busy_s - least->busy_s, most->busy_s);
  double busy = 0;
  for (CoreMeasures& core : measures.cores) {
    core.utilisation = Share(core.busy_s, measures.wall_s);
    busy += core.utilisation;
  }
  measures.utilisation = busy / static_cast<double>(measures.cores.size());
}

void AddThroughput(const RunRecord& record, RunMeasures& measures) {
  measures.gops = static_cast<std::int64_t>(record.units.size());
  const auto gops = static_cast<double>(measures.gops);
  measures.wall_s = ToSeconds(record.end - record.start);
  measures.gops_per_s = Share(gops, measures.wall_s);
  measures.cpu_s = record.usage.cpu_seconds();
  measures.system_s = record.usage.system_seconds;
  measures.gops_per_cpu_s = Share(gops, measures.cpu_s);
  measures.core_ms_per_gop = Share(measures.cpu_s * 1e3, gops);
  if (record.peak_bytes) measures.peak_bytes = static_cast<double>(*record.peak_bytes);
  if (record.cache) {
    measures.cache_misses_per_gop = ShareIfAny(static_cast<double>(record.cache->misses), gops);
  }
  measures.minor_faults = static_cast<double>(record.usage.minor_faults);
  for (const StreamSample& stream : record.streams) {
    measures.frames += static_cast<double>(stream.frames);
    measures.video_bytes += static_cast<double>(stream.video_bytes);
  }
  if (!record.media) measures.frames = measures.video_bytes = kNotMeasured;
}

void AddScheduling(const RunRecord& record, RunMeasures& measures) {
  double decisions = 0, cpu = 0, away = 0, cold = 0;
  for (const UnitSample& unit : record.units) {
    decisions += ToSeconds(unit.life.report.decision);
    cpu += ToSeconds(unit.life.report.cpu + unit.life.stats.aside_cpu);
    cold += unit.life.report.cold ? 1 : 0;
    away += unit.life.report.worker != unit.life.report.home ? 1 : 0;
  }
  const auto gops = static_cast<double>(record.units.size());
  // Decisions that named no unit are in the counters only.
  decisions = std::max(decisions, ToSeconds(record.counters.decision_time));
  measures.decision_us = Share(decisions * 1e6, gops);
  measures.overhead = Share(decisions, cpu);
  measures.disruption = Share(away, gops);
  measures.cold = Share(cold, gops);
  const auto warm = static_cast<double>(record.contexts.warm);
  measures.context_hits = ShareIfAny(warm, warm + static_cast<double>(record.contexts.opened));
}

// Completion and release order of one stream's units. For the jitter a unit was sent when it was
// submitted, as in the simulator: a replay has no media clock, and by one the jitter of a stream
// that need not run in real time would be what it is ahead of that.
OrderStats OrderOf(std::vector<const UnitSample*> units, TimePoint start) {
  OrderStats order;
  const auto sent = [start](const UnitSample* unit) {
    return ToSeconds(unit->life.report.submitted - start);
  };
  std::ranges::sort(units, {}, [](const UnitSample* unit) { return unit->life.report.finished; });
  for (const UnitSample* unit : units) {
    order.OnFinished(unit->life.report.unit.index, unit->life.report.finished, sent(unit));
  }
  std::ranges::sort(units, {}, [](const UnitSample* unit) { return unit->life.report.unit.index; });
  for (const UnitSample* unit : units) order.OnReleased(unit->released, sent(unit));
  return order;
}

std::map<StreamId, std::vector<const UnitSample*>> ByStream(const RunRecord& record) {
  std::map<StreamId, std::vector<const UnitSample*>> streams;
  for (const UnitSample& unit : record.units) {
    streams[unit.life.report.unit.stream].push_back(&unit);
  }
  return streams;
}

void AddOrder(const RunRecord& record, RunMeasures& measures) {
  OrderMeans means;
  for (const auto& [id, units] : ByStream(record)) means.Add(OrderOf(units, record.start));
  measures.reordered = means.out_of_order_rate();
  measures.extent_mean = means.mean_extent().value_or(kNotMeasured);
  measures.extent_max = static_cast<double>(means.max_extent());
  measures.gap_before_ms = means.gap_before_ms().value_or(kNotMeasured);
  measures.gap_after_ms = means.gap_after_ms().value_or(kNotMeasured);
  measures.jitter_before_ms = means.jitter_before_ms().value_or(kNotMeasured);
  measures.jitter_after_ms = means.jitter_after_ms().value_or(kNotMeasured);
}

void AddLatency(const RunRecord& record, RunMeasures& measures) {
  std::vector<double> latency, out, first_byte;
  double late = 0, due = 0;
  for (const UnitSample& unit : record.units) {
    const JobReport& report = unit.life.report;
    latency.push_back(ToMillis(report.finished - report.submitted));
    out.push_back(ToMillis(unit.released - report.submitted));
    due += unit.life.spec.deadline != kNoDeadline ? 1 : 0;
    late += report.finished > unit.life.spec.deadline ? 1 : 0;
  }
  measures.deadline_misses = ShareIfAny(late, due);
  for (const StreamSample& stream : record.streams) {
    if (stream.first_byte) first_byte.push_back(ToMillis(*stream.first_byte));
  }
  measures.latency_p50_ms = QuantileIfAny(latency, 0.50);
  measures.latency_p95_ms = QuantileIfAny(latency, 0.95);
  measures.latency_p99_ms = QuantileIfAny(latency, 0.99);
  measures.out_p50_ms = QuantileIfAny(out, 0.50);
  measures.out_p99_ms = QuantileIfAny(out, 0.99);
  measures.first_byte_ms = QuantileIfAny(first_byte, 0.50);
  measures.first_byte_max_ms = QuantileIfAny(first_byte, 1.0);
}

void AddIdleWaiting(const RunRecord& record, RunMeasures& measures) {
  std::vector<WorkedUnit> units;
  for (auto& [id, stream] : ByStream(record)) {
    // In the order in which its units were submitted. A line goes by the indices, and one that came
    // late may have headed it meanwhile; but a head there was for as long.
    std::ranges::stable_sort(stream, {},
                             [](const UnitSample* unit) { return unit->life.report.submitted; });
    TimePoint before = record.start;
    for (const UnitSample* unit : stream) {
      const JobReport& report = unit->life.report;
      units.push_back({.worker = report.worker.value,
                       .eligible = std::max(report.submitted, before),
                       .assigned = report.assigned,
                       .started = report.started,
                       .finished = report.finished});
      before = report.assigned;
    }
  }
  const auto workers = static_cast<int>(record.workers.size());
  const IdleWaiting found = FindIdleWaiting(std::move(units), workers, record.start, record.end);
  measures.idle_waiting_ms = ToMillis(found.total);
  measures.idle_waiting_longest_ms = ToMillis(found.longest);
  measures.idle_waiting_too_long_ms = ToMillis(found.too_long_total);
  if (record.others_s) measures.others_ms = *record.others_s * 1e3;
  measures.idle_waiting_events = static_cast<double>(found.too_long);
  measures.wake_up_us =
      Share(ToSeconds(found.wake_up) * 1e6, static_cast<double>(record.units.size()));
  measures.wake_up_longest_ms = ToMillis(found.wake_up_longest);
}

void AddShares(const RunRecord& record, RunMeasures& measures) {
  if (record.classes.empty()) return;
  std::vector<ServedUnit> units;
  for (const UnitSample& unit : record.units) {
    const JobReport& report = unit.life.report;
    units.push_back({.service_class = unit.life.spec.service_class,
                     .submitted = report.submitted,
                     .started = report.started,
                     .finished = report.finished});
  }
  ServedShares found = FindShares(units, record.classes.size());
  measures.backlogged_s = ToSeconds(found.backlogged);
  measures.class_shares = std::move(found.shares);
  const std::vector<double> due =
      AssuredShares(record.classes, static_cast<int>(record.workers.size()));
  const auto all = std::accumulate(measures.class_shares.begin(), measures.class_shares.end(), 0.0);
  if (all > 0) measures.share_error = 0;
  for (std::size_t c = 0; c < due.size(); ++c) {
    double& share = measures.class_shares[c];
    if (all > 0) measures.share_error = std::max(measures.share_error, std::abs(share - due[c]));
    if (all <= 0) share = kNotMeasured;  // never had all of them work at the same time
  }
  const ShareWindows windows = FindShareWindows(units, due);
  measures.share_windows = static_cast<double>(windows.windows);
  if (windows.windows == 0) return;
  measures.share_error_10s = windows.worst;
  measures.share_one_unit = windows.one_unit;
}

// What happens to a unit beside waiting and running: a replay does none of it.
constexpr std::array kMediaStages = {Stage::kRead,   Stage::kWindowWait, Stage::kDecode,
                                     Stage::kFilter, Stage::kEncode,     Stage::kMuxSend};

void AddStages(const RunRecord& record, RunMeasures& measures) {
  const auto add = [&measures](Stage stage, Duration time) {
    measures.stages_ms[static_cast<std::size_t>(stage)] += ToMillis(time);
  };
  for (const UnitSample& unit : record.units) {
    const JobReport& report = unit.life.report;
    const UnitStats& stats = unit.life.stats;
    add(Stage::kRead, unit.life.read);
    add(Stage::kWindowWait, unit.life.window_wait);
    add(Stage::kGlobalWait, report.global_wait());
    add(Stage::kSchedule, report.decision);
    add(Stage::kRunWait, report.run_wait());
    add(Stage::kDecode, stats.decode);
    add(Stage::kFilter, stats.filter);
    add(Stage::kEncode, stats.encode);
    add(Stage::kOther,
        report.finished - report.started - stats.decode - stats.filter - stats.encode);
    add(Stage::kReorderWait, unit.released - report.finished);
  }
  for (const StreamSample& stream : record.streams) add(Stage::kMuxSend, stream.mux_send);
  for (double& stage : measures.stages_ms) {
    stage = Share(stage, static_cast<double>(record.units.size()));
  }
  if (record.media) return;
  for (const Stage stage : kMediaStages) {
    measures.stages_ms[static_cast<std::size_t>(stage)] = kNotMeasured;
  }
}

using M = RunMeasures;
constexpr std::array kDocs = {
    MeasureDoc{"wall_s", "makespan", "s",
               "from the first stream's begin to the last one's end; of a replay, first arrival to "
               "last unit",
               2, 1, &M::wall_s},
    MeasureDoc{"gops_per_s", "GOPs/s", "", "units delivered per second of makespan", 1, 1,
               &M::gops_per_s},
    MeasureDoc{"core_ms_per_gop", "core/GOP", "ms", "CPU time of the whole process per unit", 2, 1,
               &M::core_ms_per_gop},
    MeasureDoc{"utilisation", "util", "%", "time workers are inside units, of makespan x workers",
               1, 100, &M::utilisation},
    MeasureDoc{"imbalance", "imbal", "%", "(most - least) / most busy worker", 1, 100,
               &M::imbalance},
    MeasureDoc{"decision_us", "decide", "us", "time inside the policy per unit", 2, 1,
               &M::decision_us},
    MeasureDoc{"overhead", "overhd", "%",
               "time inside the policy, of the CPU time of the workers' threads in units", 4, 100,
               &M::overhead},
    MeasureDoc{"disruption", "away", "%", "units that did not run on their stream's home worker", 1,
               100, &M::disruption},
    MeasureDoc{"context_hits", "warm", "%", "codec contexts taken warm from a worker's cache", 1,
               100, &M::context_hits},
    MeasureDoc{"cold", "cold", "%", "units that had to open contexts: a decoder or scaler", 1, 100,
               &M::cold},
    MeasureDoc{"reordered", "reord", "%",
               "units finished after a later one of their stream (RFC 4737)", 2, 100,
               &M::reordered},
    MeasureDoc{
        "extent_mean", "extent", "",
        "reordering extent of those units, mean (RFC 4737): places behind the first later one", 2,
        1, &M::extent_mean},
    MeasureDoc{"extent_max", "max", "", "reordering extent, greatest; 0 = none out of order", 0, 1,
               &M::extent_max},
    MeasureDoc{
        "gap_before_ms", "gap dev", "ms",
        "standard deviation of the gaps between finished units of a stream, mean of the streams", 1,
        1, &M::gap_before_ms},
    MeasureDoc{"gap_after_ms", "in order", "ms", "the same behind the reorderer", 1, 1,
               &M::gap_after_ms},
    MeasureDoc{"jitter_before_ms", "jitter", "ms",
               "RFC 3550 jitter at the end of a stream, submitted to finished, mean of the streams",
               1, 1, &M::jitter_before_ms},
    MeasureDoc{"jitter_after_ms", "in order", "ms", "the same behind the reorderer", 1, 1,
               &M::jitter_after_ms},
    MeasureDoc{"first_byte_ms", "1st byte", "ms", "from a stream's begin to its first byte, median",
               0, 1, &M::first_byte_ms},
    MeasureDoc{"first_byte_max_ms", "worst", "ms", "the same, slowest stream", 0, 1,
               &M::first_byte_max_ms},
    MeasureDoc{"latency_p50_ms", "p50", "ms", "submitted to finished, median unit", 0, 1,
               &M::latency_p50_ms},
    MeasureDoc{"latency_p95_ms", "p95", "ms",
               "submitted to finished, 95th percentile, linear between two units", 0, 1,
               &M::latency_p95_ms},
    MeasureDoc{"latency_p99_ms", "p99", "ms",
               "submitted to finished, 99th percentile, linear between two units", 0, 1,
               &M::latency_p99_ms},
    MeasureDoc{"out_p50_ms", "out p50", "ms",
               "submitted to released by the reorderer, behind all before it, median unit", 0, 1,
               &M::out_p50_ms},
    MeasureDoc{"out_p99_ms", "out p99", "ms",
               "submitted to released by the reorderer, 99th percentile", 0, 1, &M::out_p99_ms},
    MeasureDoc{
        "deadline_misses", "late", "%",
        "units not finished by their deadline, of those that have one: their class's, the next "
        "unit of a live stream, in a replay the recorded one",
        2, 100, &M::deadline_misses},
    MeasureDoc{"idle_waiting_ms", "idle-wait", "ms",
               "time during which a unit waited although a worker was idle", 1, 1,
               &M::idle_waiting_ms},
    MeasureDoc{"idle_waiting_longest_ms", "longest", "ms", "longest stretch of it for one unit", 2,
               1, &M::idle_waiting_longest_ms},
    MeasureDoc{"idle_waiting_events", "> 1 ms", "",
               "stretches longer than 1 ms; those that overlap are one", 0, 1,
               &M::idle_waiting_events},
    MeasureDoc{"idle_waiting_too_long_ms", "sum", "ms", "sum of those stretches, no moment twice",
               1, 1, &M::idle_waiting_too_long_ms},
    MeasureDoc{"others_ms", "others", "ms",
               "CPU time that other programs and the host took of our CPUs", 0, 1, &M::others_ms},
    MeasureDoc{"wake_up_us", "wake-up", "us", "until a free worker begins its next unit, mean", 1,
               1, &M::wake_up_us},
    MeasureDoc{"wake_up_longest_ms", "wake max", "ms", "the longest of these times", 1, 1,
               &M::wake_up_longest_ms},
    MeasureDoc{"share_error", "share err", "%",
               "greatest distance of a class's share from its due one, while all were backlogged",
               2, 100, &M::share_error},
    MeasureDoc{"share_error_10s", "any 10 s", "%",
               "the same, worst window of 10 s in which all were backlogged throughout", 2, 100,
               &M::share_error_10s},
    MeasureDoc{"share_one_unit", "one unit", "%", "the longest unit as a part of such a window", 2,
               100, &M::share_one_unit},
    MeasureDoc{"share_windows", "windows", "", "how many such windows there were, one each 0.2 s",
               0, 1, &M::share_windows},
    MeasureDoc{"backlogged_s", "backlogged", "s", "time during which units of all classes waited",
               2, 1, &M::backlogged_s},
    MeasureDoc{"cpu_s", "CPU", "s", "CPU time of the whole process", 2, 1, &M::cpu_s},
    MeasureDoc{"system_s", "system", "s", "of this, in the kernel", 2, 1, &M::system_s},
    MeasureDoc{"gops_per_cpu_s", "GOPs/CPU s", "", "units per second of CPU time", 1, 1,
               &M::gops_per_cpu_s},
    MeasureDoc{"frames", "frames", "", "pictures delivered", 0, 1, &M::frames},
    MeasureDoc{"video_bytes", "video", "B", "coded video delivered", 0, 1, &M::video_bytes},
    MeasureDoc{"cache_misses_per_gop", "misses", "", "last-level cache misses per unit, user space",
               0, 1, &M::cache_misses_per_gop},
    MeasureDoc{"peak_bytes", "peak", "B",
               "greatest memory of the process during the run, what earlier runs left included", 0,
               1, &M::peak_bytes},
    MeasureDoc{"minor_faults", "faults", "", "page faults without I/O", 0, 1, &M::minor_faults},
};

}  // namespace

std::string_view StageName(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames = {
      "read",   "window wait", "global queue", "schedule",     "run queue",   "decode",
      "filter", "encode",      "other",        "reorder wait", "mux and send"};
  return kNames[static_cast<std::size_t>(stage)];
}

RunMeasures Measure(const RunRecord& record) {
  RunMeasures measures;
  AddThroughput(record, measures);
  AddCores(record, measures);
  AddScheduling(record, measures);
  AddOrder(record, measures);
  AddLatency(record, measures);
  AddIdleWaiting(record, measures);
  AddShares(record, measures);
  AddStages(record, measures);
  return measures;
}

std::span<const MeasureDoc> MeasureDocs() { return kDocs; }

}  // namespace gopmill::bench
