// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "scheduler/policy_registry.h"
#include "scheduler/sim/svg_chart.h"

namespace gopmill::sim {
namespace {

constexpr const char* kClasses = "gold:5,silver:3,bronze:1";
constexpr int kScaleStreamsPerPu = 3;
constexpr int kGops = 60;
constexpr int kStreamsMachine = 192;
constexpr int kStreamsUnits = 60'000;
constexpr std::array kStreamCounts = {1, 3, 10, 30, 100, 300, 1000, 3000, 10000};

struct ScaleFigure {
  const char* file;
  const char* title;
  const char* y_label;
  double SimResult::*value;
  double scale = 1;
};
constexpr std::array kScaleFigures = {
    ScaleFigure{"useful", "Useful work", "% of worker time", &SimResult::useful, 100},
    ScaleFigure{"order", "Out of order", "% of units", &SimResult::out_of_order, 100},
    ScaleFigure{"gaps", "Deviation of the gaps between units, in order", "ms",
                &SimResult::gap_after_ms},
    ScaleFigure{"decision", "Time inside the policy", "us per unit", &SimResult::decision_us},
    ScaleFigure{"share", "Largest error of a share, 5:3:1, windows of 1 s", "% of the machine",
                &SimResult::share_error, 100},
};

GridPoint PointOf(const Experiment& base, const char* axis, int pus, int streams, int gops) {
  GridPoint point{.experiment = base,
                  .settings = {{"axis", axis},
                               {"pus", fmt::format("{}", pus)},
                               {"streams", fmt::format("{}", streams)}}};
  Experiment& experiment = point.experiment;
  experiment.topology = pus == kStreamsMachine ? "chiplet" : fmt::format("chiplet:{}", pus);
  experiment.streams = streams;
  experiment.gops = gops;
  experiment.arrivals = "closed";
  experiment.classes = kClasses;
  experiment.share_window_ms = 1000;
  return point;
}

const std::string& Setting(const GridPoint& point, std::string_view name) {
  static const std::string kNone;
  for (const auto& [key, value] : point.settings) {
    if (key == name) return value;
  }
  return kNone;
}

Chart ChartOf(const ScaleFigure& figure, const std::string& axis,
              const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
              const std::vector<std::string>& policies) {
  Chart chart{.title = figure.title,
              .x_label = axis == "pus" ? "PUs, three streams each" : "streams on 192 PUs",
              .y_label = figure.y_label,
              .series = {}};
  for (const std::string& policy : policies) {
    ChartSeries& series = chart.series.emplace_back();
    series.name = policy;
    for (const GridRun& run : runs) {
      const GridPoint& point = points[run.point];
      if (run.policy != policy || Setting(point, "axis") != axis || !run.result) continue;
      if (std::isnan(*run.result.*figure.value)) continue;  // not measured
      const double x = std::strtod(Setting(point, axis).c_str(), nullptr);
      series.points.emplace_back(x, *run.result.*figure.value * figure.scale);
    }
  }
  return chart;
}

}  // namespace

std::vector<GridPoint> ScaleGrid(const Experiment& base) {
  std::vector<GridPoint> points;
  for (int pus = 1; pus <= kMaxPus; pus *= 2) {
    points.push_back(PointOf(base, "pus", pus, kScaleStreamsPerPu * pus, kGops));
  }
  for (const int streams : kStreamCounts) {
    points.push_back(
        PointOf(base, "streams", kStreamsMachine, streams, std::max(6, kStreamsUnits / streams)));
  }
  return points;
}

std::vector<std::string> ScalePolicies() {
  std::vector<std::string> names;
  for (const char* wanted : {"hearth", "h-cahrw", "ps-hrw", "hybrid", "fifo", "hrw"}) {
    if (std::ranges::find(Policies(), wanted, &PolicyEntry::name) != Policies().end()) {
      names.emplace_back(wanted);
    }
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> ScaleCharts(
    const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
    const std::vector<std::string>& policies, Timing timing) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* axis : {"pus", "streams"}) {
    for (const ScaleFigure& figure : kScaleFigures) {
      if (figure.value == &SimResult::decision_us && timing == Timing::kLeftOut) continue;
      files.emplace_back(fmt::format("scale_{}_{}.svg", axis, figure.file),
                         ChartSvg(ChartOf(figure, axis, points, runs, policies)));
    }
  }
  return files;
}

}  // namespace gopmill::sim
