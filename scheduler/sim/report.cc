// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "scheduler/sim/seed_table.h"

namespace gopmill::sim {
namespace {

constexpr std::array kFigures = {
    Figure{"gops_per_second", "units per second of makespan", "GOPs/s", &SimResult::gops_per_second,
           1, 1},
    Figure{"makespan_ms", "from the first arrival to the end of the last unit", "",
           &SimResult::makespan_ms},
    Figure{"useful", "warm time of the units, of makespan x workers", "useful%", &SimResult::useful,
           100, 1},
    Figure{"utilisation", "time workers are inside units, of makespan x workers", "util%",
           &SimResult::utilisation, 100, 1},
    Figure{"imbalance", "(most - least) / most busy worker", "imbal%", &SimResult::imbalance, 100,
           1},
    Figure{"disruption", "units that did not run on their stream's home worker", "away%",
           &SimResult::disruption, 100, 1},
    Figure{"hit_rate", "units that found their context open", "warm%", &SimResult::hit_rate, 100,
           1},
    Figure{"out_of_order", "units finished after a later one of their stream (RFC 4737)", "ooo%",
           &SimResult::out_of_order, 100, 2},
    Figure{"mean_extent",
           "reordering extent of those units, mean (RFC 4737); null if there are none", "extent",
           &SimResult::mean_extent, 1, 1},
    Figure{"gap_before_ms",
           "standard deviation of the gaps between finished units of a stream, mean of the streams",
           "gap dev", &SimResult::gap_before_ms, 1, 1},
    Figure{"gap_after_ms", "the same behind the reorderer", "in order", &SimResult::gap_after_ms, 1,
           1},
    Figure{"jitter_before_ms",
           "RFC 3550 jitter at the end of a stream, submitted to finished, mean of the streams", "",
           &SimResult::jitter_before_ms, 1, 1},
    Figure{"jitter_after_ms", "the same behind the reorderer", "", &SimResult::jitter_after_ms, 1,
           1},
    Figure{"mean_latency_ms", "submitted to finished, mean", "", &SimResult::mean_latency_ms},
    Figure{"p50_ms", "submitted to finished, median unit", "p50 ms", &SimResult::p50_ms, 1, 1},
    Figure{"p95_ms", "submitted to finished, 95th percentile", "p95", &SimResult::p95_ms, 1, 1},
    Figure{"p99_ms", "submitted to finished, 99th percentile", "p99", &SimResult::p99_ms, 1, 1},
    Figure{"max_latency_ms", "submitted to finished, worst unit", "", &SimResult::max_latency_ms},
    Figure{"mean_service_ms", "begun to finished, mean", "", &SimResult::mean_service_ms},
    Figure{"reload", "part of a 2 MB cache that a unit reads again, mean", "", &SimResult::reload},
    Figure{"mean_wait_ms", "submitted to begun, mean", "", &SimResult::mean_wait_ms},
    Figure{"idle_waiting_share",
           "worker time idle while submitted units waited, of makespan x workers", "idle-w%",
           &SimResult::idle_waiting_share, 100, 2},
    Figure{"idle_waiting_longest_ms", "the longest such spell", "longest",
           &SimResult::idle_waiting_longest_ms, 1, 1},
    Figure{"deadline_misses",
           "units finished after their deadline, of those that have one; null if none does",
           "late%", &SimResult::deadline_misses, 100, 2},
    Figure{"share_windows", "windows in which all classes were backlogged from end to end", "",
           &SimResult::share_windows},
    Figure{"share_error",
           "largest deviation of a class from what is due to it in any of them; null if there are "
           "none",
           "share±%", &SimResult::share_error, 100, 2},
    Figure{"decision_us", "time inside the policy per unit, by the real clock", "dec us",
           &SimResult::decision_us, 1, 2, true},
    Figure{"run_seconds", "time the simulation took, by the real clock", "",
           &SimResult::run_seconds, 1, 1, true},
};

std::string SettingsText(const GridPoint& point) {
  std::string text;
  for (const auto& [name, value] : point.settings) {
    text += (text.empty() ? "" : ", ") + name + " " + value;
  }
  return text;
}

std::string TableRow(const GridRun& run) {
  std::string row = fmt::format("{:<14}", run.policy);
  if (!run.result) return row + " cannot serve this: " + run.error.message;
  for (const Figure& figure : kFigures) {
    if (figure.heading.empty()) continue;
    if (!IsMeasured(figure, *run.result)) {
      row += fmt::format(" {:>8}", "-");
      continue;
    }
    row += fmt::format(" {:>8.{}f}", *run.result.*figure.value * figure.scale, figure.digits);
  }
  return row;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::span<const Figure> Figures() { return kFigures; }

bool IsShown(const Figure& figure, Timing timing) {
  return !figure.real_time || timing == Timing::kShown;
}

bool IsMeasured(const Figure& figure, const SimResult& result) {
  return !std::isnan(result.*figure.value);
}

std::string TableText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs) {
  const std::vector<SeedGroup> groups = GroupBySeed(points);
  if (groups.size() < points.size()) {
    return SeedTableText(groups, runs, runs.size() / points.size());
  }
  std::string heading = fmt::format("{:<14}", "policy");
  for (const Figure& figure : kFigures) {
    // fmt pads by display width, so that the sign in "share±%" counts once.
    if (!figure.heading.empty()) heading += fmt::format(" {:>8}", figure.heading);
  }
  std::string text;
  std::size_t shown = points.size();
  for (const GridRun& run : runs) {
    if (run.point != shown) {
      shown = run.point;
      const std::string settings = SettingsText(points[shown]);
      if (!text.empty()) text += "\n";
      if (!settings.empty()) text += settings + "\n";
      text += heading + "\n";
    }
    text += TableRow(run) + "\n";
  }
  return text;
}

std::string CsvText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                    Timing timing) {
  std::string text;
  for (const auto& [name, value] : points.front().settings) text += name + ",";
  text += "policy,workers,units";
  for (const Figure& figure : kFigures) {
    if (IsShown(figure, timing)) text += "," + std::string(figure.name);
  }
  text += ",error\n";
  for (const GridRun& run : runs) {
    for (const auto& [name, value] : points[run.point].settings) text += Quoted(value) + ",";
    text += run.policy;
    text += run.result ? fmt::format(",{},{}", run.result->workers, run.result->units) : ",,";
    for (const Figure& figure : kFigures) {
      if (!IsShown(figure, timing)) continue;
      text += ",";
      if (!run.result || !IsMeasured(figure, *run.result)) continue;
      text += fmt::format("{:.6g}", *run.result.*figure.value);
    }
    text += "," + (run.result ? "" : Quoted(run.error.message)) + "\n";
  }
  return text;
}

}  // namespace gopmill::sim
