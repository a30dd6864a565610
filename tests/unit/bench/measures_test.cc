// SPDX-License-Identifier: Apache-2.0
#include "server/bench/measures.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <set>

#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(MeasureTest, ComputesWhatCanBeCheckedByHand) {
  const RunMeasures measures = Measure(test::SampleRun("rr", 0));
  EXPECT_EQ(measures.gops, 4);
  EXPECT_DOUBLE_EQ(measures.wall_s, 0.020);
  EXPECT_DOUBLE_EQ(measures.gops_per_s, 200);
  EXPECT_DOUBLE_EQ(measures.core_ms_per_gop, 10);
  EXPECT_DOUBLE_EQ(measures.utilisation, 0.75);
  EXPECT_DOUBLE_EQ(measures.cores[1].utilisation, 0.5);
  EXPECT_DOUBLE_EQ(measures.imbalance, 0.5);
  EXPECT_DOUBLE_EQ(measures.disruption, 0.25);
  EXPECT_DOUBLE_EQ(measures.reordered, 0.25);  // unit 0 of stream 2 after its unit 1
  EXPECT_DOUBLE_EQ(measures.extent_max, 1);
  EXPECT_DOUBLE_EQ(measures.first_byte_ms, 5);
  EXPECT_DOUBLE_EQ(measures.latency_p50_ms, 7.5);  // of 3, 5, 10, 12
  EXPECT_DOUBLE_EQ(measures.out_p50_ms, 8.5);      // of 3, 5, 12, 20
  EXPECT_DOUBLE_EQ(measures.out_p99_ms, 19.76);
}

TEST(MeasureTest, StagesOfTheWorkerAddUpToItsTime) {
  const RunMeasures measures = Measure(test::SampleRun("rr", 0));
  const auto stage = [&measures](Stage each) {
    return measures.stages_ms[static_cast<std::size_t>(each)];
  };
  EXPECT_NEAR(
      stage(Stage::kDecode) + stage(Stage::kFilter) + stage(Stage::kEncode) + stage(Stage::kOther),
      7.5, 1e-9);
  EXPECT_NEAR(stage(Stage::kReorderWait), 2.5, 1e-9);
}

// The clock is read before the policy is asked: the decision that assigns a unit comes after that.
TEST(MeasureTest, DecisionsAreInNoOtherStage) {
  RunRecord run = test::SampleRun("rr", 0);
  run.units.resize(1);
  JobReport& report = run.units[0].life.report;
  report.submitted = test::At(1);
  report.assigned = test::At(3);
  report.started = test::At(7);
  report.finished = run.units[0].released = test::At(10);
  const auto waits = [&run] {
    const auto stages = Measure(run).stages_ms;
    const auto at = [&](Stage stage) { return stages[static_cast<std::size_t>(stage)]; };
    return std::array{at(Stage::kGlobalWait), at(Stage::kSchedule), at(Stage::kRunWait)};
  };
  // Offered when it came, in vain; again when a worker was free.
  report.decision = FromSeconds(1.5e-3);
  report.last_decision = FromSeconds(1e-3);
  EXPECT_THAT(waits(), ElementsAre(DoubleEq(1.5), DoubleEq(1.5), DoubleEq(3)));
}

TEST(MeasureTest, UnitsOfTheCoresAreAllUnits) {
  const RunMeasures measures = Measure(test::SampleRun("rr", 0));
  const auto add = [](std::int64_t sum, const CoreMeasures& core) { return sum + core.units; };
  EXPECT_EQ(std::accumulate(measures.cores.begin(), measures.cores.end(), std::int64_t{0}, add),
            measures.gops);
}

// Section 6.4.1, by hand: transit times of 10, 14 and 13 ms, so D = 4 and -1.
TEST(MeasureTest, JitterIsOfTheTimeSinceSubmission) {
  RunRecord run = test::SampleRun("rr", 0);
  run.units = {test::Unit(1, 0, 0, 0, 10), test::Unit(1, 1, 0, 100, 114),
               test::Unit(1, 2, 0, 200, 213)};
  const double first = 4.0 / 16;
  EXPECT_DOUBLE_EQ(Measure(run).jitter_before_ms, first + (1 - first) / 16);
  run.units[1].released = test::At(120);  // D = 10 and -7
  EXPECT_DOUBLE_EQ(Measure(run).jitter_after_ms, 10.0 / 16 + (7 - 10.0 / 16) / 16);
}

// Unit 2 begins a run of the decoder and is submitted long before unit 1, which goes on with one.
TEST(MeasureTest, AUnitWaitsForTheOneSubmittedBeforeIt) {
  RunRecord run = test::SampleRun("rr", 0);
  run.units = {test::Unit(1, 0, 0, 0, 9), test::Unit(1, 1, 0, 9.5, 12),
               test::Unit(1, 2, 0, 12, 20)};
  run.units[2].life.report.submitted = test::At(1);
  run.units[2].life.report.assigned = test::At(8);
  const RunMeasures measures = Measure(run);
  EXPECT_DOUBLE_EQ(measures.idle_waiting_longest_ms, 11) << "from 1 to 12, beside worker 1";
  EXPECT_EQ(measures.idle_waiting_events, 1);
}

TEST(MeasureTest, LateUnitsAreCounted) {
  RunRecord run = test::SampleRun("rr", 0);
  run.units[0].life.spec.deadline = test::At(4);
  run.units[1].life.spec.deadline = test::At(9);
  EXPECT_DOUBLE_EQ(Measure(run).deadline_misses, 0.5) << "of the two that have a deadline";
}

TEST(MeasureTest, WhatNoUnitTellsIsNotZero) {
  RunRecord run = test::SampleRun("rr", 0);
  run.units.resize(2);  // one stream, in order, without deadlines
  run.streams[0].first_byte.reset();
  run.streams[1].first_byte.reset();
  const RunMeasures measures = Measure(run);
  EXPECT_EQ(measures.reordered, 0);
  EXPECT_EQ(measures.extent_max, 0);
  EXPECT_EQ(measures.frames, 0) << "delivered none";
  for (const double value : {measures.extent_mean, measures.deadline_misses, measures.gap_before_ms,
                             measures.first_byte_ms, measures.context_hits, measures.share_error,
                             measures.backlogged_s, measures.share_windows}) {
    EXPECT_FALSE(IsMeasured(value)) << value;
  }
}

// Both classes have units, but never at the same time.
TEST(MeasureTest, SharesThatNobodyContestedAreNotPerfect) {
  RunRecord run = test::SampleRun("rr", 0);
  run.classes.resize(2);
  for (UnitSample& unit : run.units) {
    unit.life.spec.service_class = unit.life.report.unit.stream.value == 1 ? 0 : 1;
  }
  const RunMeasures measures = Measure(run);
  EXPECT_EQ(measures.backlogged_s, 0);
  EXPECT_EQ(measures.share_windows, 0);
  EXPECT_FALSE(IsMeasured(measures.share_error));
  EXPECT_FALSE(IsMeasured(measures.share_error_10s));
  EXPECT_FALSE(IsMeasured(measures.class_shares[0]));
}

TEST(MeasureTest, CacheMissesAreOfAUnit) {
  RunRecord run = test::SampleRun("rr", 0);
  EXPECT_FALSE(IsMeasured(Measure(run).cache_misses_per_gop));
  run.cache = CacheCounts{.references = 100, .misses = 10};
  EXPECT_DOUBLE_EQ(Measure(run).cache_misses_per_gop, 2.5);
}

TEST(MeasureTest, AReplayHasNoMediaToMeasure) {
  RunRecord run = test::SampleRun("rr", 0);
  run.media = false;
  const RunMeasures measures = Measure(run);
  const auto stage = [&measures](Stage each) {
    return measures.stages_ms[static_cast<std::size_t>(each)];
  };
  for (const Stage each : {Stage::kRead, Stage::kWindowWait, Stage::kDecode, Stage::kFilter,
                           Stage::kEncode, Stage::kMuxSend}) {
    EXPECT_FALSE(IsMeasured(stage(each))) << StageName(each);
  }
  EXPECT_TRUE(IsMeasured(stage(Stage::kOther)));
  EXPECT_FALSE(IsMeasured(measures.frames));
  EXPECT_FALSE(IsMeasured(measures.video_bytes));
}

TEST(MeasureTest, AnEmptyRunIsZeroOrNothing) {
  const RunMeasures measures = Measure(RunRecord{});
  for (const MeasureDoc& doc : MeasureDocs()) {
    const double value = measures.*doc.value;
    EXPECT_TRUE(value == 0 || !IsMeasured(value)) << doc.name;
  }
}

TEST(MeasureTest, EveryMeasureHasItsOwnNameAndSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const MeasureDoc& doc : MeasureDocs()) {
    EXPECT_TRUE(names.insert(doc.name).second) << doc.name;
    EXPECT_GT(doc.meaning.size(), 8U) << doc.name;
  }
}

}  // namespace
}  // namespace gopmill::bench
