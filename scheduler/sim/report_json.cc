// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/dump_json.h"
#include "scheduler/sim/report.h"
#include "scheduler/sim/seed_table.h"

namespace gopmill::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string KeyOf(std::string_view param) {
  std::string key(param);
  std::ranges::replace(key, '-', '_');
  return key;
}

Json ValueJson(const Experiment& experiment, std::string_view param) {
  const ParamValue value = ValueOf(experiment, param);
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json TraceJson(const Experiment& experiment) {
  return {{"file", experiment.trace_file},
          {"machine", experiment.trace->header.machine},
          {"unit", experiment.trace->header.unit},
          {"units", experiment.trace->units.size()}};
}

// Parameters that are looked at, by whether all points have the same of them.
class ParamsOfPoints {
 public:
  explicit ParamsOfPoints(const std::vector<GridPoint>& points) {
    for (const ExperimentParam& param : ExperimentParams()) {
      const bool is_read = std::ranges::any_of(
          points, [&](const GridPoint& p) { return IsRead(p.experiment, param.name); });
      if (!is_read) continue;
      const ParamValue first = ValueOf(points.front().experiment, param.name);
      const bool is_common = std::ranges::all_of(points, [&](const GridPoint& p) {
        return IsRead(p.experiment, param.name) && ValueOf(p.experiment, param.name) == first;
      });
      (is_common ? common_ : differing_).push_back(param.name);
    }
    same_seed_ = std::ranges::all_of(points, [&](const GridPoint& p) {
      return p.experiment.seed == points.front().experiment.seed;
    });
  }

  void AddCommon(const Experiment& any, Json& json) const {
    for (const std::string_view param : common_) json[KeyOf(param)] = ValueJson(any, param);
    if (same_seed_) json["seed"] = any.seed;
    if (any.trace != nullptr) json["trace"] = TraceJson(any);
  }

  // What was swept as it was given, and what came with it.
  [[nodiscard]] Json PointJson(const GridPoint& point) const {
    Json json = Json::object();
    for (const auto& [name, value] : point.settings) json[name] = value;
    for (const std::string_view param : differing_) {
      if (!IsRead(point.experiment, param) || json.contains(param)) continue;
      json[KeyOf(param)] = ValueJson(point.experiment, param);
    }
    return json;
  }

 private:
  std::vector<std::string_view> common_, differing_;
  bool same_seed_ = true;
};

Json FieldsJson(Timing timing) {
  Json json = {{"workers", "workers there were"},
               {"units", "units done"},
               {"max_extent", "reordering extent, greatest"}};
  for (const Figure& figure : Figures()) {
    if (IsShown(figure, timing)) json[figure.name] = figure.meaning;
  }
  json["worker_utilisation"] = "time inside units of makespan, by worker";
  json["classes"] =
      "busy_ms: worker time in all; share: part of it while all classes were backlogged, null if "
      "they never were; due: what that should be, by weight, guarantee and maximum";
  return json;
}

Json ClassJson(const ClassResult& c) {
  return {{"name", c.name},
          {"weight", c.weight},
          {"units", c.units},
          {"busy_ms", c.busy_ms},
          {"share", std::isnan(c.share) ? Json(nullptr) : Json(c.share)},
          {"due", c.due}};
}

Json ResultJson(const SimResult& result, Timing timing) {
  Json json = {
      {"workers", result.workers}, {"units", result.units}, {"max_extent", result.max_extent}};
  for (const Figure& figure : Figures()) {
    if (!IsShown(figure, timing)) continue;
    json[figure.name] = IsMeasured(figure, result) ? Json(result.*figure.value) : Json(nullptr);
  }
  json["worker_utilisation"] = result.worker_utilisation;
  for (const ClassResult& c : result.classes) json["classes"].push_back(ClassJson(c));
  return json;
}

Json MeansJson(const std::vector<SeedGroup>& groups, const std::vector<GridRun>& runs,
               std::size_t policies, Timing timing) {
  Json json = Json::array();
  for (const SeedGroup& group : groups) {
    const SeedRuns seeds(group, runs, policies);
    for (std::size_t policy = 0; policy < policies; ++policy) {
      Json entry = Json::object();
      for (const auto& [name, value] : group.settings) entry["point"][name] = value;
      entry["policy"] = runs[policy].policy;
      entry["seeds"] = group.points.size();
      for (const Figure& figure : Figures()) {
        const Estimate value = seeds.Of(policy, figure);
        if (!IsShown(figure, timing) || value.count == 0) continue;
        entry[figure.name] = {{"mean", value.mean}, {"half_width_95", value.half_width}};
      }
      json.push_back(std::move(entry));
    }
  }
  return json;
}

}  // namespace

std::string JsonText(const ReportOrigin& origin, const std::vector<GridPoint>& points,
                     const std::vector<GridRun>& runs, Timing timing) {
  Json json = {{"version", origin.version}, {"command", origin.command}};
  if (!origin.check.empty()) {
    json["check"] = origin.check;
    json["against"] = origin.against;
  }
  if (origin.interrupted) json["interrupted"] = true;
  const ParamsOfPoints params(points);
  params.AddCommon(points.front().experiment, json);
  json["fields"] = FieldsJson(timing);
  const std::vector<SeedGroup> groups = GroupBySeed(points);
  if (groups.size() < points.size()) {
    json["means"] = MeansJson(groups, runs, runs.size() / points.size(), timing);
  }
  json["runs"] = Json::array();
  for (const GridRun& run : runs) {
    Json entry = Json::object();
    Json point = params.PointJson(points[run.point]);
    if (!point.empty()) entry["point"] = std::move(point);
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
