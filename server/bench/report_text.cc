// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "server/bench/report.h"
#include "server/bench/round_order.h"

namespace gopmill::bench {
namespace {

using Row = std::vector<std::string>;

// The first column to the left, numbers to the right.
std::string Table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + "\n";
  }
  return text;
}

std::size_t IndexOf(std::string_view name) {
  const auto docs = MeasureDocs();
  return static_cast<std::size_t>(std::ranges::find(docs, name, &MeasureDoc::name) - docs.begin());
}

std::string Heading(const MeasureDoc& doc) {
  return doc.unit.empty() ? std::string(doc.heading) : fmt::format("{} {}", doc.heading, doc.unit);
}

std::string Number(double value, int decimals) {
  return IsMeasured(value) ? fmt::format("{:.{}f}", value, decimals) : "-";
}

// The median, scaled; "-" where no run tells it, with their number where only some do.
std::string Shown(const std::optional<Interval>& interval, double scale, int decimals,
                  int repeats) {
  if (!interval) return "-";
  const std::string median = Number(interval->median * scale, decimals);
  if (interval->values == repeats) return median;
  return fmt::format("{} (of {})", median, interval->values);
}

// Both ends; with how many rounds tell it and what the interval is then worth, where not all do.
std::string Range(const Interval& interval, double scale, std::string_view format, int repeats) {
  if (interval.values < 2) return "-";
  const auto number = [&](double value) {
    return fmt::format(fmt::runtime(format), value * scale);
  };
  std::string range = number(interval.low) + ".." + number(interval.high);
  if (interval.values == repeats) return range;
  return range + fmt::format(" (of {}: {:.1f} %)", interval.values, 100 * interval.coverage);
}

std::string MeasureTable(const Report& report, std::span<const std::string_view> names) {
  std::vector<Row> rows = {{"policy"}};
  for (const std::string_view name : names) {
    rows[0].push_back(Heading(MeasureDocs()[IndexOf(name)]));
  }
  for (const PolicySummary& summary : report.summaries) {
    Row row = {summary.policy};
    for (const std::string_view name : names) {
      const MeasureDoc& doc = MeasureDocs()[IndexOf(name)];
      row.push_back(Shown(summary.measures[IndexOf(name)], doc.scale, doc.decimals,
                          report.comparison.plan.repeats));
    }
    rows.push_back(std::move(row));
  }
  return Table(rows);
}

std::string ThroughputTable(const Report& report) {
  std::vector<Row> rows = {{"policy", "GOPs/s", "interval", "core/GOP ms", "util %", "per core %"}};
  for (const PolicySummary& summary : report.summaries) {
    // Every run tells these.
    const auto at = [&summary](std::string_view name) {
      return summary.measures[IndexOf(name)].value_or(Interval{});
    };
    const Interval rate = at("gops_per_s");
    std::string cores;
    for (const CoreMeasures& core : summary.cores) {
      cores += fmt::format("{}{:.0f}", cores.empty() ? "" : " ", 100 * core.utilisation);
    }
    rows.push_back({summary.policy, fmt::format("{:.1f}", rate.median),
                    Range(rate, 1, "{:.1f}", report.comparison.plan.repeats),
                    fmt::format("{:.2f}", at("core_ms_per_gop").median),
                    fmt::format("{:.1f}", 100 * at("utilisation").median), std::move(cores)});
  }
  return Table(rows);
}

// A difference of percentages is no percentage.
std::string HeadingOfDifference(const MeasureDoc& doc) {
  return doc.unit == "%" ? fmt::format("{} points", doc.heading) : Heading(doc);
}

using Paired = std::vector<std::optional<Interval>>;

// What is compared with the baseline round by round: the noise of a whole round is in both.
std::string PairedTable(const Report& report, const Paired PolicySummary::*paired,
                        std::span<const std::string_view> names) {
  const bool ratio = paired == &PolicySummary::ratios;
  const std::string& baseline = report.head.baseline;
  std::vector<Row> rows = {{"policy"}};
  for (const std::string_view name : names) {
    const MeasureDoc& doc = MeasureDocs()[IndexOf(name)];
    rows[0].push_back(ratio ? std::string(doc.heading) : HeadingOfDifference(doc));
    rows[0].emplace_back("interval");
  }
  for (const PolicySummary& summary : report.summaries) {
    if (summary.policy == baseline) continue;
    Row row = {summary.policy};
    for (const std::string_view name : names) {
      const auto& interval = (summary.*paired)[IndexOf(name)];
      const double scale = ratio ? 1 : MeasureDocs()[IndexOf(name)].scale;
      const std::string_view format = ratio ? "{:.3f}" : "{:+.2f}";
      row.push_back(interval ? fmt::format(fmt::runtime(format), interval->median * scale) : "-");
      row.push_back(interval ? Range(*interval, scale, format, report.comparison.plan.repeats)
                             : "-");
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return "";
  return fmt::format("\n{} {} of the same round\n", ratio ? "Divided by" : "Less", baseline) +
         Table(rows);
}

std::string StageTable(const Report& report) {
  std::vector<Row> rows = {{"policy"}};
  for (std::size_t i = 0; i < kStages; ++i) {
    rows[0].emplace_back(StageName(static_cast<Stage>(i)));
  }
  for (const PolicySummary& summary : report.summaries) {
    Row row = {summary.policy};
    for (const double stage : summary.stages_ms) row.push_back(Number(stage, 2));
    rows.push_back(std::move(row));
  }
  return Table(rows);
}

// Achieved share beside the weight's, by class.
std::string ShareTable(const Report& report) {
  const RunRecord& record = report.comparison.runs.front().record;
  const auto& classes = record.classes;
  if (classes.empty()) return "";
  const std::vector<double> due = AssuredShares(classes, static_cast<int>(record.workers.size()));
  std::vector<Row> rows = {{"policy"}};
  for (std::size_t c = 0; c < due.size(); ++c) {
    rows[0].push_back(fmt::format("{} (due {:.1f} %)", classes[c].name, 100 * due[c]));
  }
  rows[0].insert(rows[0].end(), {"share err %", "any 10 s", "one unit", "windows", "backlogged s"});
  const int repeats = report.comparison.plan.repeats;
  for (const PolicySummary& summary : report.summaries) {
    Row row = {summary.policy};
    for (const auto& share : summary.class_shares) row.push_back(Shown(share, 100, 1, repeats));
    for (const char* name :
         {"share_error", "share_error_10s", "share_one_unit", "share_windows", "backlogged_s"}) {
      const MeasureDoc& doc = MeasureDocs()[IndexOf(name)];
      row.push_back(Shown(summary.measures[IndexOf(name)], doc.scale, doc.decimals, repeats));
    }
    rows.push_back(std::move(row));
  }
  return "\nShares of the workers while all classes were backlogged, %\n" + Table(rows);
}

std::string OrderOfRuns(const ComparisonPlan& plan) {
  std::string text = fmt::format("{} repeats", plan.repeats);
  if (plan.policies.size() > 1) {
    text += fmt::format(" interleaved (orders balanced after each {})",
                        BalancedRounds(plan.policies.size()));
  }
  return plan.warm_ups == 0 ? text + ", no warm-up"
                            : text + fmt::format(", warm-up: {}", plan.warm_ups);
}

std::string RunQueues(int units) {
  return units == 0 ? "run queues without bound" : fmt::format("run queues of {} units", units);
}

std::string Head(const Report& report) {
  const ReportHead& head = report.head;
  return fmt::format(
      "{}, {} CPUs, {}, load {:.2f}; gopmill {}, FFmpeg {}\n{}: {} streams, units: {}, {}, "
      "seed {}, {}\n",
      head.machine.cpu, head.machine.cpus, head.machine.kernel, head.machine.load,
      head.machine.gopmill, head.machine.ffmpeg, head.workload, head.streams, head.unit,
      RunQueues(head.run_queue_units), head.seed, OrderOfRuns(report.comparison.plan));
}

std::string IntervalNote(const Report& report) {
  if (report.comparison.plan.repeats == 1) return "One run each: no intervals.\n";
  const double coverage = report.summaries.front().measures.front()->coverage;
  std::string note =
      fmt::format("Medians; intervals hold the true median with {:.1f} %", 100 * coverage);
  note += coverage < 0.95 ? " only: 95 % take at least 6 repeats.\n" : ".\n";
  return note;
}

std::string ReplayNote(const Report& report) {
  if (report.comparison.runs.front().record.media) return "";
  return "A replay has no media: what only they could tell is not measured (-).\n";
}

std::string CacheNote(const Report& report) {
  if (!report.head.cache_obstacle.empty()) {
    return fmt::format("Cache misses were not counted: {}.\n", report.head.cache_obstacle);
  }
  std::string text = "Last-level cache misses per GOP (user space):";
  for (const PolicySummary& summary : report.summaries) {
    text += fmt::format(" {} {}", summary.policy,
                        Shown(summary.measures[IndexOf("cache_misses_per_gop")], 1, 0,
                              report.comparison.plan.repeats));
  }
  return text + "\n";
}

}  // namespace

std::string ReportText(const Report& report) {
  using Names = std::vector<std::string_view>;
  std::string text = Head(report) + IntervalNote(report);
  text += "\nThroughput\n" + ThroughputTable(report);
  text += PairedTable(report, &PolicySummary::ratios, kComparedRatios);
  text += PairedTable(report, &PolicySummary::differences, kComparedDifferences);
  text += "\nOrder and latency\n" +
          MeasureTable(report,
                       Names{"reordered", "extent_mean", "extent_max", "gap_before_ms",
                             "gap_after_ms", "first_byte_ms", "latency_p50_ms", "latency_p95_ms",
                             "latency_p99_ms", "out_p50_ms", "out_p99_ms", "deadline_misses"});
  text += "\nScheduling\n" +
          MeasureTable(report, Names{"decision_us", "overhead", "disruption", "cold",
                                     "context_hits", "imbalance", "idle_waiting_ms",
                                     "idle_waiting_longest_ms", "idle_waiting_events", "others_ms",
                                     "wake_up_us", "wake_up_longest_ms"});
  text += "\nLife of a GOP, ms (means)\n" + StageTable(report);
  text += ShareTable(report);
  text += "\n" + ReplayNote(report) + CacheNote(report);
  for (const std::string& violation : report.violations) text += "FAILED: " + violation + "\n";
  return text;
}

}  // namespace gopmill::bench
