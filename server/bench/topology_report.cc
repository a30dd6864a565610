// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"
#include "server/bench/machine.h"
#include "server/bench/topology_measure.h"

namespace gopmill::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kEnoughRepeats = 6;  // for an interval of 95 %

std::string Shown(const Interval& interval) {
  return fmt::format("{:.3f} {:.3f}..{:.3f}", interval.median, interval.low, interval.high);
}

std::string Table(const MoveResult& result) {
  std::string text =
      fmt::format("{:<8} {:>9} {:>8} {:>8} {:>8}  {:<19}  {:<19}  {:<19}\n", "share", "CPUs",
                  "hot ms", "moved", "cold", "c = moved/hot", "cold/hot", "hot again/hot");
  for (const PairSamples& each : result.pairs) {
    const MoveSummary s = Summarise(each.samples);
    text +=
        fmt::format("{:<8} {:>9} {:>8.3f} {:>8.3f} {:>8.3f}  {:<19}  {:<19}  {:<19}\n",
                    NodeKindName(each.pair.level), fmt::format("{}, {}", each.cpu_a, each.cpu_b),
                    s.hot_ms.median, s.moved_ms.median, s.cold_ms.median, Shown(s.ratio),
                    Shown(s.cold), Shown(s.noise));
  }
  return text;
}

std::string NamesOf(const std::vector<NodeKind>& levels) {
  std::string names;
  for (const NodeKind level : levels) {
    names += (names.empty() ? "" : ", ") + std::string(NodeKindName(level));
  }
  return names;
}

std::string Remarks(const MoveResult& result) {
  std::string text;
  const auto measured = RatiosOfLevels(result.pairs);
  if (result.repeats < kEnoughRepeats) {
    text += fmt::format("{} repeats are too few for 95 %: intervals are whole ranges.\n",
                        result.repeats);
  }
  if (!result.not_measured.empty()) {
    text += "not measured, for no two of the CPUs share that at closest: " +
            NamesOf(result.not_measured) + "\n";
  }
  if (measured.size() == 1) {
    text += fmt::format(
        "All CPUs are equally far from each other here ({}): one ratio is all that "
        "this machine can tell.\n",
        NodeKindName(measured.begin()->first));
  }
  const bool below =
      std::ranges::any_of(measured, [](const auto& level) { return level.second.median < 1; });
  if (below)
    text += "A ratio below 1: moving cost nothing that could be measured; the option says 1.\n";
  return text;
}

Json IntervalJson(const Interval& interval) {
  return {{"median", interval.median},
          {"low", interval.low},
          {"high", interval.high},
          {"coverage", interval.coverage}};
}

Json TimesJson(const Interval& cpu, const Interval& wall) {
  return {{"cpu_ms", IntervalJson(cpu)}, {"wall_ms", IntervalJson(wall)}};
}

Json PairJson(const PairSamples& each) {
  const MoveSummary s = Summarise(each.samples);
  return {{"level", NodeKindName(each.pair.level)},
          {"cpus", {each.cpu_a, each.cpu_b}},
          {"hot", TimesJson(s.hot_ms, s.hot_wall_ms)},
          {"moved", TimesJson(s.moved_ms, s.moved_wall_ms)},
          {"cold", TimesJson(s.cold_ms, s.cold_wall_ms)},
          {"ratio", IntervalJson(s.ratio)},
          {"cold_ratio", IntervalJson(s.cold)},
          {"noise_ratio", IntervalJson(s.noise)}};
}

Json MachineJson() {
  const Machine machine = DescribeMachine();
  return {{"cpu", machine.cpu},       {"cpus", machine.cpus},        {"kernel", machine.kernel},
          {"load", machine.load},     {"date", machine.date},        {"gopmill", machine.gopmill},
          {"ffmpeg", machine.ffmpeg}, {"compiler", machine.compiler}};
}

}  // namespace

std::string MoveText(const MoveResult& result) {
  const LevelRatios usable = UsableRatios(RatiosOfLevels(result.pairs));
  return fmt::format(
      "{} GOPs of {}, to {}; CPU time per GOP,\nmedians of {} repeats with {}\n\n{}\n{}"
      "\n--scheduler-options {}\n",
      result.gops, result.movie, result.target, result.repeats,
      result.repeats < kEnoughRepeats ? "whole ranges" : "95 % intervals", Table(result),
      Remarks(result), RatiosOption(usable));
}

std::string MoveJson(const MoveResult& result) {
  const auto measured = RatiosOfLevels(result.pairs);
  const LevelRatios usable = UsableRatios(measured);
  Json json = {{"machine", MachineJson()},
               {"movie", result.movie},
               {"target", result.target},
               {"repeats", result.repeats},
               {"gops", result.gops}};
  for (const PairSamples& each : result.pairs) json["pairs"].push_back(PairJson(each));
  for (const NodeKind level : kRatioLevels) {
    const auto found = measured.find(level);
    json["levels"][std::string(NodeKindName(level))] = {
        {"measured", found == measured.end() ? Json(nullptr) : IntervalJson(found->second)},
        {"used", usable.At(level)}};
  }
  json["scheduler_options"] = RatiosOption(usable);
  return DumpJson(json, 2);
}

}  // namespace gopmill::bench
