// SPDX-License-Identifier: Apache-2.0
//
// From the times of GOPs that were moved between cores to communication ratios (comm_ratios.h):
// which pairs of PUs stand for which level of the machine, and what their times say.
//
//     c = CPU time of a GOP on another core, with the contexts of its home handed over
//         / CPU time of the same GOP at home
// The time at home is the mean of two runs; the ratio of these two shows what is only noise.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "scheduler/comm_ratios.h"
#include "scheduler/topology.h"
#include "server/bench/statistics.h"

namespace gopmill::bench {

// Pairs that are measured for one level, at most.
inline constexpr int kPairsPerLevel = 2;

struct PuPair {
  NodeKind level = NodeKind::kMachine;  // the closest that both share
  int a = 0, b = 0;                     // indices into Topology::pus()

  bool operator==(const PuPair&) const = default;
};

// The first and the last pair of each level that two PUs of the machine share at closest; inside
// out. Empty on a machine of one PU.
std::vector<PuPair> PairsPerLevel(const Topology& topology);

// The runs of one GOP, in the order in which MoveSample holds their times.
enum class MoveCase {
  kHot,    // at home, behind the GOP before it
  kMoved,  // on the other core, with the contexts of its home
  kCold,   // on the other core, contexts opened anew
  kAgain,  // at home, once more
};
inline constexpr std::size_t kMoveCases = 4;

struct GopTime {
  double cpu_ms = 0, wall_ms = 0;
};
struct MoveSample {
  std::array<GopTime, kMoveCases> times = {};
  [[nodiscard]] const GopTime& at(MoveCase which) const {
    return times[static_cast<std::size_t>(which)];
  }
};

struct PairSamples {
  PuPair pair;
  int cpu_a = 0, cpu_b = 0;  // as the operating system numbers them
  std::vector<MoveSample> samples;
};

// Medians with 95 % intervals. Times in ms, ratios of CPU times.
struct MoveSummary {
  Interval hot_ms, moved_ms, cold_ms;
  Interval hot_wall_ms, moved_wall_ms, cold_wall_ms;
  Interval ratio;  // c
  Interval cold;   // cold / hot
  Interval noise;  // again / hot: 1 but for what disturbed the measurement
};
MoveSummary Summarise(const std::vector<MoveSample>& samples);

// The measured c of each level, over the samples of all of its pairs.
std::map<NodeKind, Interval> RatiosOfLevels(const std::vector<PairSamples>& pairs);

// The levels between which ratios differ, inside out: core to machine.
inline constexpr std::array kRatioLevels = {NodeKind::kCore,    NodeKind::kL2,
                                            NodeKind::kL3,      NodeKind::kNuma,
                                            NodeKind::kPackage, NodeKind::kMachine};

// Ratios that policies accept: the medians, at least 1 and at least that of the closer level. A
// level without a measured one has that of the next closer level (1 if there is none).
LevelRatios UsableRatios(const std::map<NodeKind, Interval>& measured);

// "ratios=1/1/1.013/1.013/1.013/1.013", a value of --scheduler-options. Three decimals.
std::string RatiosOption(const LevelRatios& ratios);

}  // namespace gopmill::bench
