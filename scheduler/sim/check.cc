// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/check.h"

#include <fmt/format.h>

#include <algorithm>

namespace gopmill::sim {
namespace {

struct CheckMachine {
  int pus = 0;
  int gops = 0;
};
constexpr CheckMachine kMachines[] = {{8, 400}, {64, 150}, {256, 75}, {1024, 40}};
constexpr double kSpreads[] = {0, 0.2, 0.4, 0.6};
constexpr int kContexts[] = {1, 4, 16};
// 0 stands for closed arrivals: all streams at once, full load.
constexpr double kLoads[] = {0, 0.5, 0.7, 0.9, 1.0};
// 20 streams on 8 PUs.
constexpr double kStreamsPerPu = 2.5;

GridPoint PointOf(const Experiment& base, const CheckMachine& machine, double spread, int contexts,
                  double load) {
  GridPoint point{.experiment = base,
                  .settings = {{"pus", fmt::format("{}", machine.pus)},
                               {"spread", fmt::format("{}", spread)},
                               {"contexts", fmt::format("{}", contexts)},
                               {"load", load > 0 ? fmt::format("{}", load) : "closed"}}};
  Experiment& experiment = point.experiment;
  experiment.topology = fmt::format("chiplet:{}", machine.pus);
  experiment.streams = static_cast<int>(machine.pus * kStreamsPerPu);
  experiment.gops = machine.gops;
  experiment.spread = spread;
  experiment.contexts = contexts;
  experiment.arrivals = load > 0 ? "poisson" : "closed";
  if (load > 0) experiment.load = load;
  return point;
}

struct Ratios {
  double throughput = 0;
  double p99 = 0;
};

Ratios RatiosOf(const GridRun& mine, const GridRun& rival) {
  return {mine.result->gops_per_second / rival.result->gops_per_second,
          mine.result->p99_ms / std::max(1e-9, rival.result->p99_ms)};
}

std::string PointLine(const GridPoint& point, const Ratios& ratios, std::string_view verdict) {
  std::string line;
  for (const auto& [name, value] : point.settings) line += fmt::format("{} {:<7} ", name, value);
  return line + fmt::format(" throughput x {:<6.3f} p99 x {:<6.3f} {}\n", ratios.throughput,
                            ratios.p99, verdict);
}

}  // namespace

std::vector<GridPoint> CheckGrid(const Experiment& base) {
  std::vector<GridPoint> points;
  for (const CheckMachine& machine : kMachines) {
    for (const double spread : kSpreads) {
      for (const int contexts : kContexts) {
        for (const double load : kLoads) {
          points.push_back(PointOf(base, machine, spread, contexts, load));
        }
      }
    }
  }
  return points;
}

CheckSummary SummariseCheck(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                            const CheckGoal& goal) {
  CheckSummary summary{.points = points.size(), .worst_throughput = 1e300, .text = {}};
  std::string worst_throughput, worst_p99;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const GridRun& mine = runs[2 * i];
    const GridRun& rival = runs[2 * i + 1];
    if (!mine.result || !rival.result) {
      ++summary.failed;
      continue;
    }
    const Ratios ratios = RatiosOf(mine, rival);
    const bool worse = ratios.throughput < 1 - goal.tolerance || ratios.p99 > 1 + goal.tolerance;
    const bool reached = ratios.throughput >= goal.throughput || ratios.p99 <= goal.p99;
    summary.worse += worse ? 1 : 0;
    summary.reached += reached ? 1 : 0;
    const std::string line =
        PointLine(points[i], ratios, worse ? "WORSE" : (reached ? "reached" : "short of it"));
    summary.text += line;
    if (ratios.throughput < summary.worst_throughput) {
      summary.worst_throughput = ratios.throughput;
      worst_throughput = line;
    }
    if (ratios.p99 > summary.worst_p99) {
      summary.worst_p99 = ratios.p99;
      worst_p99 = line;
    }
  }
  summary.text += fmt::format(
      "\nworst throughput: {}worst p99:        {}\n"
      "{} points: goal (throughput x {:.2f} or p99 x {:.2f}) reached at {}, worse at {}, not "
      "served {}\n",
      worst_throughput, worst_p99, summary.points, goal.throughput, goal.p99, summary.reached,
      summary.worse, summary.failed);
  return summary;
}

}  // namespace gopmill::sim
