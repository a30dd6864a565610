// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/quantile.h"

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

// Of one point, over its seeds.
struct Ratios {
  Estimate throughput, p99;
};

// Nothing if a policy could not serve one of the seeds.
std::optional<Ratios> RatiosOf(const SeedGroup& group, const std::vector<GridRun>& runs) {
  std::vector<double> throughput, p99;
  for (const std::size_t point : group.points) {
    const GridRun& mine = runs[2 * point];
    const GridRun& rival = runs[2 * point + 1];
    if (!mine.result || !rival.result) return std::nullopt;
    throughput.push_back(mine.result->gops_per_second / rival.result->gops_per_second);
    p99.push_back(mine.result->p99_ms / std::max(1e-9, rival.result->p99_ms));
  }
  return Ratios{Estimated(throughput), Estimated(p99)};
}

// Of one run nobody knows what the seed made; its mean alone decides.
double Known(double half_width) { return std::isfinite(half_width) ? half_width : 0; }

struct Verdict {
  Ratios ratios;
  bool reached = false, worse = false;
};

Verdict Judge(const Ratios& ratios, const CheckGoal& goal) {
  const auto& [throughput, p99] = ratios;
  const bool slower =
      throughput.mean < 1 - goal.tolerance && throughput.mean + Known(throughput.half_width) < 1;
  const bool later = p99.mean > 1 + goal.tolerance && p99.mean - Known(p99.half_width) > 1;
  return {.ratios = ratios,
          .reached = throughput.mean >= goal.throughput || p99.mean <= goal.p99,
          .worse = slower || later};
}

std::string RatioText(const Estimate& ratio) {
  if (!std::isfinite(ratio.half_width)) return fmt::format("{:.3f}       ", ratio.mean);
  return fmt::format("{:.3f} ±{:.3f}", ratio.mean, ratio.half_width);
}

std::string PointLine(const SeedGroup& group, const Verdict& verdict) {
  std::string line;
  for (const auto& [name, value] : group.settings) line += fmt::format("{} {:<7} ", name, value);
  const char* const word = verdict.worse ? "WORSE" : (verdict.reached ? "reached" : "short of it");
  return line + fmt::format(" throughput x {} p99 x {} {}\n", RatioText(verdict.ratios.throughput),
                            RatioText(verdict.ratios.p99), word);
}

// The points that have one setting in common.
struct Part {
  std::string name;
  std::vector<double> throughput, p99;
  std::size_t reached = 0, worse = 0;

  void Add(const Verdict& verdict) {
    throughput.push_back(verdict.ratios.throughput.mean);
    p99.push_back(verdict.ratios.p99.mean);
    reached += verdict.reached ? 1 : 0;
    worse += verdict.worse ? 1 : 0;
  }
  [[nodiscard]] std::string Line() const {
    const auto range = [](const std::vector<double>& values) {
      const auto [least, most] = std::ranges::minmax(values);
      return fmt::format("{:.3f} ({:.3f} to {:.3f})", Median(values), least, most);
    };
    return fmt::format("{:<18} {:>6}  {:<24} {:<24} {:>7} {:>5}\n", name, throughput.size(),
                       range(throughput), range(p99), reached, worse);
  }
};

// Sums over the points of each value of each setting.
class Parts {
 public:
  void Add(const SeedGroup& group, const Verdict& verdict) {
    for (const auto& [name, value] : group.settings) PartOf(name, value).Add(verdict);
    all_.Add(verdict);
  }
  [[nodiscard]] std::string Text() const {
    if (all_.throughput.empty()) return {};
    std::string text = fmt::format("\n{:<18} {:>6}  {:<24} {:<24} {:>7} {:>5}\n", "", "points",
                                   "throughput: median", "p99: median", "reached", "worse");
    for (const auto& [name, parts] : by_setting_) {
      for (const Part& part : parts) text += part.Line();
    }
    return text + all_.Line();
  }

 private:
  Part& PartOf(const std::string& name, const std::string& value) {
    auto setting = std::ranges::find(by_setting_, name, &Setting::first);
    if (setting == by_setting_.end()) {
      setting = by_setting_.insert(by_setting_.end(), {name, {}});
    }
    const std::string wanted = name + " " + value;
    auto& parts = setting->second;
    const auto part = std::ranges::find(parts, wanted, &Part::name);
    if (part != parts.end()) return *part;
    return parts.emplace_back(Part{.name = wanted, .throughput = {}, .p99 = {}});
  }

  using Setting = std::pair<std::string, std::vector<Part>>;
  std::vector<Setting> by_setting_;
  Part all_{.name = "all", .throughput = {}, .p99 = {}};
};

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
  const std::vector<SeedGroup> groups = GroupBySeed(points);
  CheckSummary summary{.points = groups.size(), .worst_throughput = 1e300, .text = {}};
  std::string worst_throughput, worst_p99;
  Parts parts;
  for (const SeedGroup& group : groups) {
    const auto ratios = RatiosOf(group, runs);
    if (!ratios) {
      ++summary.failed;
      continue;
    }
    const Verdict verdict = Judge(*ratios, goal);
    summary.worse += verdict.worse ? 1 : 0;
    summary.reached += verdict.reached ? 1 : 0;
    parts.Add(group, verdict);
    const std::string line = PointLine(group, verdict);
    summary.text += line;
    if (ratios->throughput.mean < summary.worst_throughput) {
      summary.worst_throughput = ratios->throughput.mean;
      worst_throughput = line;
    }
    if (ratios->p99.mean > summary.worst_p99) {
      summary.worst_p99 = ratios->p99.mean;
      worst_p99 = line;
    }
  }
  summary.text += parts.Text();
  summary.text += fmt::format(
      "\nworst throughput: {}worst p99:        {}\n"
      "{} points, {} seeds each: goal (mean throughput x {:.2f} or mean p99 x {:.2f}) reached at "
      "{}, "
      "worse (by over {:.0f} % and 1 outside the 95 % interval) at {}, not served {}\n",
      worst_throughput, worst_p99, summary.points, groups.empty() ? 0 : groups[0].points.size(),
      goal.throughput, goal.p99, summary.reached, goal.tolerance * 100, summary.worse,
      summary.failed);
  return summary;
}

}  // namespace gopmill::sim
