// SPDX-License-Identifier: Apache-2.0
#include "server/bench/level_ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gopmill::bench {
namespace {

template <class Value>
Interval Over(const std::vector<MoveSample>& samples, const Value& value) {
  std::vector<double> values;
  for (const MoveSample& sample : samples) values.push_back(value(sample));
  return MedianInterval(std::move(values));
}

double HotCpu(const MoveSample& s) {
  return (s.at(MoveCase::kHot).cpu_ms + s.at(MoveCase::kAgain).cpu_ms) / 2;
}

double HotWall(const MoveSample& s) {
  return (s.at(MoveCase::kHot).wall_ms + s.at(MoveCase::kAgain).wall_ms) / 2;
}

double RatioOf(const MoveSample& s) { return s.at(MoveCase::kMoved).cpu_ms / HotCpu(s); }

}  // namespace

std::vector<PuPair> PairsPerLevel(const Topology& topology) {
  // Two PUs below different children of a node share that node at closest.
  std::map<NodeKind, std::vector<PuPair>, std::greater<>> by_level;
  const auto nodes = topology.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int>& children = nodes[i].children;
    if (children.size() < 2) continue;
    const NodeKind level = topology.SharedKind(static_cast<int>(i));
    const auto first_pu = [&](int child) {
      return nodes[static_cast<std::size_t>(child)].first_pu;
    };
    std::vector<PuPair>& pairs = by_level[level];
    pairs.push_back({level, first_pu(children[0]), first_pu(children[1])});
    const PuPair last{level, first_pu(children[children.size() - 2]), first_pu(children.back())};
    if (last != pairs.back()) pairs.push_back(last);
  }
  std::vector<PuPair> chosen;
  for (const auto& [level, pairs] : by_level) {
    chosen.push_back(pairs.front());
    if (kPairsPerLevel > 1 && pairs.size() > 1) chosen.push_back(pairs.back());
  }
  return chosen;
}

MoveSummary Summarise(const std::vector<MoveSample>& samples) {
  const auto cpu = [](MoveCase which) {
    return [which](const MoveSample& s) { return s.at(which).cpu_ms; };
  };
  const auto wall = [](MoveCase which) {
    return [which](const MoveSample& s) { return s.at(which).wall_ms; };
  };
  MoveSummary summary;
  summary.hot_ms = Over(samples, HotCpu);
  summary.moved_ms = Over(samples, cpu(MoveCase::kMoved));
  summary.cold_ms = Over(samples, cpu(MoveCase::kCold));
  summary.hot_wall_ms = Over(samples, HotWall);
  summary.moved_wall_ms = Over(samples, wall(MoveCase::kMoved));
  summary.cold_wall_ms = Over(samples, wall(MoveCase::kCold));
  summary.ratio = Over(samples, RatioOf);
  summary.cold =
      Over(samples, [](const MoveSample& s) { return s.at(MoveCase::kCold).cpu_ms / HotCpu(s); });
  summary.noise = Over(samples, [](const MoveSample& s) {
    return s.at(MoveCase::kAgain).cpu_ms / s.at(MoveCase::kHot).cpu_ms;
  });
  return summary;
}

std::map<NodeKind, Interval> RatiosOfLevels(const std::vector<PairSamples>& pairs) {
  std::map<NodeKind, std::vector<double>> ratios;
  for (const PairSamples& each : pairs) {
    for (const MoveSample& sample : each.samples)
      ratios[each.pair.level].push_back(RatioOf(sample));
  }
  std::map<NodeKind, Interval> measured;
  for (auto& [level, values] : ratios) measured[level] = MedianInterval(std::move(values));
  return measured;
}

LevelRatios UsableRatios(const std::map<NodeKind, Interval>& measured) {
  LevelRatios ratios;
  const std::array<double*, kRatioLevels.size()> fields = {
      &ratios.core, &ratios.l2, &ratios.l3, &ratios.numa, &ratios.package, &ratios.machine};
  ratios.pu = 1;
  double closer = 1;
  for (std::size_t i = 0; i < kRatioLevels.size(); ++i) {
    const auto found = measured.find(kRatioLevels[i]);
    if (found != measured.end()) closer = std::max(closer, found->second.median);
    *fields[i] = closer;
  }
  return ratios;
}

std::string RatiosOption(const LevelRatios& ratios) {
  std::string text = "ratios=";
  for (const NodeKind level : kRatioLevels) {
    if (text.back() != '=') text += "/";
    text += fmt::format("{:.7g}", std::round(ratios.At(level) * 1000) / 1000);
  }
  return text;
}

}  // namespace gopmill::bench
