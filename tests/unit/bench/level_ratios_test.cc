// SPDX-License-Identifier: Apache-2.0
#include "server/bench/level_ratios.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "scheduler/policy_options_text.h"
#include "scheduler/topology_hwloc.h"
#include "server/bench/topology_measure.h"

namespace gopmill::bench {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Topology Machine(const char* synthetic) { return TopologyFromSynthetic(synthetic).value(); }

std::vector<NodeKind> LevelsOf(const std::vector<PuPair>& pairs) {
  std::vector<NodeKind> levels;
  for (const PuPair& pair : pairs) {
    if (levels.empty() || levels.back() != pair.level) levels.push_back(pair.level);
  }
  return levels;
}

MoveSample Times(double hot, double moved, double cold, double again) {
  return {.times = {{{hot, 2 * hot}, {moved, 2 * moved}, {cold, 2 * cold}, {again, 2 * again}}}};
}

PairSamples PairOf(NodeKind level, std::vector<MoveSample> samples) {
  return {.pair = {.level = level, .a = 0, .b = 1},
          .cpu_a = 4,
          .cpu_b = 6,
          .samples = std::move(samples)};
}

TEST(PairsPerLevelTest, EveryLevelThatTwoPusShareIsThereInsideOut) {
  const Topology big = Machine("pack:2 l3:2 l2:2 core:2 pu:2");
  const auto pairs = PairsPerLevel(big);
  EXPECT_THAT(LevelsOf(pairs), ElementsAre(NodeKind::kCore, NodeKind::kL2, NodeKind::kL3,
                                           NodeKind::kPackage, NodeKind::kMachine));
  for (const PuPair& pair : pairs) EXPECT_EQ(big.ClosestCommon(pair.a, pair.b), pair.level);
  // Two of each level, but there is only one pair of packages.
  EXPECT_THAT(pairs, SizeIs(9));
}

TEST(PairsPerLevelTest, UnevenAndFlatMachines) {
  EXPECT_THAT(PairsPerLevel(Machine("pu:1")), IsEmpty());
  EXPECT_THAT(PairsPerLevel(Machine("l3:1 core:2 pu:1")),
              ElementsAre(PuPair{.level = NodeKind::kL3, .a = 0, .b = 1}));
  // hwloc puts a memory node around them.
  const auto many = PairsPerLevel(Machine("core:64 pu:1"));
  EXPECT_THAT(many, ElementsAre(PuPair{.level = NodeKind::kNuma, .a = 0, .b = 1},
                                PuPair{.level = NodeKind::kNuma, .a = 62, .b = 63}));
}

TEST(MoveSummaryTest, RatiosAreThoseOfEachSampleToTheMeanAtHome) {
  const MoveSummary s = Summarise({Times(9, 12, 15, 11), Times(20, 30, 50, 20), Times(5, 5, 5, 5)});
  EXPECT_EQ(s.hot_ms.median, 10);
  EXPECT_EQ(s.moved_ms.median, 12);
  EXPECT_EQ(s.cold_ms.median, 15);
  EXPECT_EQ(s.hot_wall_ms.median, 20);
  EXPECT_EQ(s.moved_wall_ms.median, 24);
  EXPECT_THAT(s.ratio.median, DoubleNear(1.2, 1e-12));
  EXPECT_THAT(s.ratio.low, DoubleNear(1, 1e-12));
  EXPECT_THAT(s.ratio.high, DoubleNear(1.5, 1e-12));
  EXPECT_THAT(s.cold.median, DoubleNear(1.5, 1e-12));
  EXPECT_THAT(s.noise.high, DoubleNear(11.0 / 9, 1e-12));
}

TEST(RatiosOfLevelsTest, PairsOfALevelAreTakenTogether) {
  const auto measured = RatiosOfLevels({PairOf(NodeKind::kL3, {Times(10, 11, 0, 10)}),
                                        PairOf(NodeKind::kL3, {Times(10, 13, 0, 10)}),
                                        PairOf(NodeKind::kCore, {Times(10, 9, 0, 10)})});
  ASSERT_THAT(measured, SizeIs(2));
  EXPECT_THAT(measured.at(NodeKind::kL3).median, DoubleNear(1.2, 1e-12));
  EXPECT_THAT(measured.at(NodeKind::kCore).median, DoubleNear(0.9, 1e-12));
}

Interval IntervalAt(double median) {
  return {.median = median, .low = median, .high = median, .coverage = 0.95};
}

TEST(UsableRatiosTest, MissingLevelsTakeTheNextCloserOne) {
  const LevelRatios r =
      UsableRatios({{NodeKind::kL2, IntervalAt(1.2)}, {NodeKind::kPackage, IntervalAt(1.5)}});
  EXPECT_EQ(RatiosOption(r), "ratios=1/1.2/1.2/1.2/1.5/1.5");
}

TEST(UsableRatiosTest, NeverBelowOneNorBelowACloserLevel) {
  const LevelRatios r = UsableRatios({{NodeKind::kCore, IntervalAt(0.93)},
                                      {NodeKind::kL3, IntervalAt(1.30049)},
                                      {NodeKind::kNuma, IntervalAt(1.1)},
                                      {NodeKind::kMachine, IntervalAt(12.34567)}});
  EXPECT_EQ(RatiosOption(r), "ratios=1/1/1.3/1.3/1.3/12.346");
  EXPECT_EQ(RatiosOption(UsableRatios({})), "ratios=1/1/1/1/1/1");
}

TEST(UsableRatiosTest, TheOptionIsOneThatTheSchedulerTakes) {
  PolicyOptions options;
  const LevelRatios r =
      UsableRatios({{NodeKind::kL3, IntervalAt(1.0625)}, {NodeKind::kMachine, IntervalAt(2)}});
  ASSERT_TRUE(ParsePolicyOptions(RatiosOption(r), 2, options).ok());
  EXPECT_TRUE(ValidateRatios(options.ratios, 2).ok());
  EXPECT_THAT(options.ratios.levels.numa, DoubleNear(1.0625, 5e-4));
}

MoveResult OneLevel(double moved, int repeats) {
  MoveResult result;
  result.movie = "a.mpg";
  result.target = "352x288";
  result.repeats = repeats;
  result.gops = 3;
  result.pairs = {PairOf(NodeKind::kL3, std::vector<MoveSample>(static_cast<std::size_t>(repeats),
                                                                Times(10, moved, 14, 10)))};
  result.not_measured = {NodeKind::kCore, NodeKind::kL2, NodeKind::kMachine};
  return result;
}

TEST(MoveTextTest, SaysWhatItMeasuredAndWhatItCouldNot) {
  const std::string text = MoveText(OneLevel(12.5, 8));
  EXPECT_THAT(text, AllOf(HasSubstr("medians of 8 repeats with 95 % intervals"), HasSubstr("4, 6"),
                          HasSubstr("1.250 1.250..1.250"), HasSubstr("14.000"),
                          HasSubstr("share that at closest: core, l2, machine\n"),
                          HasSubstr("equally far from each other here (l3)"),
                          HasSubstr("\n--scheduler-options ratios=1/1/1.25/1.25/1.25/1.25\n")));
  EXPECT_THAT(text, Not(HasSubstr("below 1")));
  EXPECT_THAT(text, Not(HasSubstr("too few")));
}

TEST(MoveTextTest, PrintsARatioBelowOneAsMeasuredAndUsesOne) {
  const std::string text = MoveText(OneLevel(9.5, 3));
  EXPECT_THAT(text, AllOf(HasSubstr("0.950 0.950..0.950"), HasSubstr("A ratio below 1: "),
                          HasSubstr("3 repeats are too few"), HasSubstr("ratios=1/1/1/1/1/1\n"),
                          HasSubstr("medians of 3 repeats with whole ranges")));
  EXPECT_THAT(text, Not(HasSubstr("95 % intervals")));
}

TEST(MoveJsonTest, HoldsPairsLevelsAndTheOption) {
  const auto json = nlohmann::json::parse(MoveJson(OneLevel(12.5, 8)));
  EXPECT_EQ(json["pairs"][0]["level"], "l3");
  EXPECT_EQ(json["pairs"][0]["cpus"], nlohmann::json({4, 6}));
  EXPECT_EQ(json["pairs"][0]["moved"]["wall_ms"]["median"], 25.0);
  EXPECT_EQ(json["levels"]["l3"]["measured"]["median"], 1.25);
  EXPECT_TRUE(json["levels"]["core"]["measured"].is_null());
  EXPECT_EQ(json["levels"]["core"]["used"], 1.0);
  EXPECT_EQ(json["levels"]["machine"]["used"], 1.25);
  EXPECT_EQ(json["scheduler_options"], "ratios=1/1/1.25/1.25/1.25/1.25");
}

TEST(MeasureMovesTest, RefusesWhatItCannotMeasureWith) {
  const Topology two = Machine("core:2 pu:1");
  const auto refused = [](const Topology& topology, const MoveOptions& options) {
    const auto result = MeasureMoves(topology, options, {});
    return result.ok() ? Error{} : result.error();
  };
  EXPECT_EQ(refused(two, {.movie = "/nonexistent", .repeats = 1}).parameter, "movie");
  EXPECT_EQ(refused(two, {.movie = "tests", .repeats = 1}).parameter, "movie");
  EXPECT_EQ(refused(two, {.movie = "CMakeLists.txt", .repeats = 1}).parameter, "movie");
  EXPECT_EQ(refused(two, {.movie = "x", .repeats = 0}).parameter, "repeats");
  EXPECT_EQ(refused(two, {.movie = "x", .repeats = kMaxMoveRepeats + 1}).parameter, "repeats");
  EXPECT_THAT(refused(Machine("pu:1"), {}).message, HasSubstr("one CPU only"));
}

}  // namespace
}  // namespace gopmill::bench
