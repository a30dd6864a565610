// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"

namespace gopmill::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kFigures = {
    Figure{"gops_per_second", "GOPs/s", &SimResult::gops_per_second, 1, 1},
    Figure{"makespan_ms", "", &SimResult::makespan_ms},
    Figure{"useful", "useful%", &SimResult::useful, 100, 1},
    Figure{"utilisation", "util%", &SimResult::utilisation, 100, 1},
    Figure{"imbalance", "imbal%", &SimResult::imbalance, 100, 1},
    Figure{"disruption", "away%", &SimResult::disruption, 100, 1},
    Figure{"hit_rate", "warm%", &SimResult::hit_rate, 100, 1},
    Figure{"out_of_order", "ooo%", &SimResult::out_of_order, 100, 2},
    Figure{"mean_extent", "extent", &SimResult::mean_extent, 1, 1},
    Figure{"jitter_before_ms", "jitter", &SimResult::jitter_before_ms, 1, 1},
    Figure{"jitter_after_ms", "in order", &SimResult::jitter_after_ms, 1, 1},
    Figure{"rfc3550_jitter_ms", "", &SimResult::rfc3550_jitter_ms},
    Figure{"mean_latency_ms", "", &SimResult::mean_latency_ms},
    Figure{"p50_ms", "p50 ms", &SimResult::p50_ms, 1, 1},
    Figure{"p95_ms", "p95", &SimResult::p95_ms, 1, 1},
    Figure{"p99_ms", "p99", &SimResult::p99_ms, 1, 1},
    Figure{"max_latency_ms", "", &SimResult::max_latency_ms},
    Figure{"mean_service_ms", "", &SimResult::mean_service_ms},
    Figure{"reload", "", &SimResult::reload},
    Figure{"mean_wait_ms", "", &SimResult::mean_wait_ms},
    Figure{"idle_waiting_share", "idle-w%", &SimResult::idle_waiting_share, 100, 2},
    Figure{"idle_waiting_longest_ms", "longest", &SimResult::idle_waiting_longest_ms, 1, 1},
    Figure{"missed_deadlines", "late%", &SimResult::missed_deadlines, 100, 2},
    Figure{"share_error", "share±%", &SimResult::share_error, 100, 2},
    Figure{"decision_us", "dec us", &SimResult::decision_us, 1, 2, true},
    Figure{"run_seconds", "", &SimResult::run_seconds, 1, 1, true},
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

bool IsShown(const Figure& figure, Timing timing) {
  return !figure.real_time || timing == Timing::kShown;
}

Json ResultJson(const SimResult& result, Timing timing) {
  Json json = {{"workers", result.workers},
               {"units", result.units},
               {"steals", result.steals},
               {"max_extent", result.max_extent},
               {"share_windows", result.share_windows}};
  for (const Figure& figure : kFigures) {
    if (IsShown(figure, timing)) json[figure.name] = result.*figure.value;
  }
  json["worker_utilisation"] = result.worker_utilisation;
  for (const ClassResult& c : result.classes) {
    json["classes"].push_back({{"name", c.name},
                               {"weight", c.weight},
                               {"units", c.units},
                               {"busy_ms", c.busy_ms},
                               {"share", c.share}});
  }
  return json;
}

}  // namespace

std::span<const Figure> Figures() { return kFigures; }

std::string TableText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs) {
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
  text += "\n";
  for (const GridRun& run : runs) {
    if (!run.result) continue;
    for (const auto& [name, value] : points[run.point].settings) text += Quoted(value) + ",";
    text += fmt::format("{},{},{}", run.policy, run.result->workers, run.result->units);
    for (const Figure& figure : kFigures) {
      if (IsShown(figure, timing)) text += fmt::format(",{:.6g}", *run.result.*figure.value);
    }
    text += "\n";
  }
  return text;
}

std::string JsonText(const Experiment& base, const std::vector<GridPoint>& points,
                     const std::vector<GridRun>& runs, Timing timing) {
  Json json = {{"topology", base.topology},
               {"workload", base.workload},
               {"mix", MixOf(base)},
               {"arrivals", base.arrivals},
               {"classes", base.classes},
               {"streams", base.streams},
               {"concurrent", base.concurrent},
               {"gops", base.gops},
               {"queue", base.queue},
               {"window", base.window},
               {"contexts", base.contexts},
               {"spread", base.spread},
               {"load", base.load},
               {"memory_share", base.memory_share},
               {"refill_ms", base.refill_ms},
               {"switch_ms", base.switch_ms},
               {"seed", base.seed},
               {"runs", Json::array()}};
  for (const GridRun& run : runs) {
    Json entry = Json::object();
    for (const auto& [name, value] : points[run.point].settings) entry["point"][name] = value;
    entry["policy"] = run.policy;
    if (run.result) {
      entry.update(ResultJson(*run.result, timing));
    } else {
      entry["error"] = run.error.message;
    }
    json["runs"].push_back(std::move(entry));
  }
  return DumpJson(json, 2);
}

}  // namespace gopmill::sim
