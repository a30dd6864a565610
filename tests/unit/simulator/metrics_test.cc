// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scheduler/sim/report.h"

namespace gopmill::sim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Workload OneStream(std::uint32_t units) {
  Workload workload;
  workload.streams.push_back({.id = StreamId{1}, .unit_count = units});
  workload.units.resize(units);
  return workload;
}

SimResult OrderOf(const Workload& workload, const std::vector<std::uint32_t>& order) {
  OrderMetrics metrics(workload);
  double now = 0;
  for (const std::uint32_t index : order) metrics.Finished(0, index, 0, now += 10);
  SimResult result;
  metrics.AddTo(result);
  return result;
}

TEST(OrderMetricsTest, InOrderIsInOrder) {
  const SimResult result = OrderOf(OneStream(4), {0, 1, 2, 3});
  EXPECT_EQ(result.out_of_order, 0);
  EXPECT_EQ(result.gap_before_ms, 0);
  EXPECT_EQ(result.gap_after_ms, 0);
  EXPECT_TRUE(std::isnan(result.mean_extent)) << "of nothing";
  EXPECT_EQ(result.max_latency_ms, 40);
}

TEST(OrderMetricsTest, ALateUnitCountsOnceWithItsExtent) {
  const SimResult result = OrderOf(OneStream(4), {1, 2, 3, 0});
  EXPECT_EQ(result.out_of_order, 0.25);
  EXPECT_EQ(result.mean_extent, 3);
  EXPECT_EQ(result.max_extent, 3U);
  EXPECT_EQ(result.gap_before_ms, 0);
  // Behind the reorderer all leave at once.
  EXPECT_EQ(result.gap_after_ms, 0);
}

TEST(OrderMetricsTest, ExtentIsCountedInCompletionsAsInRfc4737) {
  // Unit 0 comes behind 5, the only one of those that it should have preceded: one completion back,
  // however many indices lie between.
  const SimResult result = OrderOf(OneStream(6), {5, 0});
  EXPECT_EQ(result.mean_extent, 1);
  EXPECT_EQ(result.max_extent, 1U);
}

// Submitted in the order of places 0, 2, 1: what counts is the order in which they are sent.
TEST(OrderMetricsTest, OrderIsThatOfThePlaces) {
  Workload workload = OneStream(3);
  workload.places = {0, 2, 1};
  EXPECT_EQ(OrderOf(workload, {0, 2, 1}).out_of_order, 0);
  const SimResult result = OrderOf(workload, {0, 1, 2});
  EXPECT_DOUBLE_EQ(result.out_of_order, 1.0 / 3);
  EXPECT_EQ(result.mean_extent, 1);
  EXPECT_EQ(result.gap_before_ms, 0);
  EXPECT_DOUBLE_EQ(result.gap_after_ms, std::sqrt(200)) << "departures in order: at 10, 30 and 30";
}

TEST(OrderMetricsTest, JitterIsThatOfTheTimeFromSubmittedToFinished) {
  const Workload workload = OneStream(4);
  OrderMetrics metrics(workload);
  // As the unit test of gopmill bench (measures_test.cc): 10, 11, 11 and 18 ms.
  metrics.Finished(0, 0, 0, 10);
  metrics.Finished(0, 1, 4, 15);
  metrics.Finished(0, 3, 6, 17);
  metrics.Finished(0, 2, 5, 23);
  SimResult result;
  metrics.AddTo(result);
  double before = 1.0 / 16;
  before -= before / 16;
  before += (7 - before) / 16;
  EXPECT_NEAR(result.jitter_before_ms, before, 1e-9);
  double after = 1.0 / 16;
  after += (7 - after) / 16;  // unit 2
  after += (1 - after) / 16;  // unit 3, which left with it
  EXPECT_NEAR(result.jitter_after_ms, after, 1e-9);
}

TEST(OrderMetricsTest, StreamsWithoutGapsDoNotCount) {
  Workload workload;
  for (const std::uint32_t units : {4U, 2U, 1U}) {
    const auto first = static_cast<std::uint32_t>(workload.units.size());
    workload.streams.push_back({.id = {}, .first_unit = first, .unit_count = units});
    workload.units.resize(first + units);
  }
  OrderMetrics metrics(workload);
  for (const auto& [index, at] : {std::pair(0U, 0.0), std::pair(1U, 10.0), std::pair(2U, 30.0)}) {
    metrics.Finished(0, index, at, at);
  }
  metrics.Finished(1, 0, 0, 10);
  metrics.Finished(1, 1, 0, 42);
  metrics.Finished(2, 0, 0, 10);
  SimResult result;
  metrics.AddTo(result);
  EXPECT_NEAR(result.gap_before_ms, std::sqrt(50), 1e-9) << "10 and 20 ms in the first stream";
  EXPECT_NEAR(result.jitter_before_ms, 1, 1e-9) << "0 of the first stream, 2 of the second";

  const SimResult single = OrderOf(OneStream(1), {0});
  for (const double value : {single.gap_before_ms, single.gap_after_ms, single.jitter_before_ms,
                             single.jitter_after_ms, single.mean_extent}) {
    EXPECT_TRUE(std::isnan(value));
  }
  const std::vector<GridPoint> points(1);
  const std::string json = JsonText({}, points, {{.point = 0, .policy = "fifo", .result = single}});
  for (const char* name : {"mean_extent", "gap_before_ms", "gap_after_ms", "jitter_before_ms"}) {
    EXPECT_THAT(json, HasSubstr("\"" + std::string(name) + "\": null"));
  }
}

TEST(OrderMetricsTest, TheReordererMakesGapsOfDisorder) {
  // Departures in order: unit 0 at 20, 1 at 20, 2 at 40, 3 at 40.
  const SimResult result = OrderOf(OneStream(4), {1, 0, 3, 2});
  EXPECT_EQ(result.out_of_order, 0.5);
  EXPECT_EQ(result.gap_before_ms, 0);
  EXPECT_NEAR(result.gap_after_ms, std::sqrt((2 * 400.0 / 9 + 4 * 400.0 / 9 * 1) / 2) * 1.0, 1.0);
}

// As Quantile of gopmill bench (statistics_test.cc).
TEST(IdleMetricsTest, OnlyIdleWorkersBesideWaitingUnitsCount) {
  IdleMetrics idle(2);
  idle.Waiting(+3, 10);  // two idle workers, three units
  idle.Idle(-1, 15);     // 2 x 5 ms
  idle.Idle(-1, 20);     // 1 x 5 ms
  idle.Waiting(-3, 50);  // nobody idle
  idle.Idle(+2, 60);
  idle.Waiting(+1, 70);  // nobody waits
  EXPECT_DOUBLE_EQ(idle.worker_ms(), 15);
  EXPECT_DOUBLE_EQ(idle.longest_ms(), 10);
}

Workload TwoClasses(double guaranteed) {
  Workload workload = OneStream(1);
  workload.classes = {{.name = "a", .weight = 3}, {.name = "b", .weight = 1}};
  workload.classes[1].guaranteed = guaranteed;
  return workload;
}

SimResult SharesOf(const ShareMetrics& shares) {
  SimResult result;
  result.classes.resize(2);
  shares.AddTo(result);
  return result;
}

TEST(ShareMetricsTest, ComparesOnlyWindowsInWhichAllAreBacklogged) {
  const Workload workload = TwoClasses(0);
  ShareMetrics shares(workload, 4, 100);
  shares.Waiting(0, +9, 0);
  shares.Waiting(1, +9, 0);
  for (int i = 0; i < 20; ++i) {  // 0.7 of every 10 ms
    shares.Ran(0, 10 * i, 10 * i + 7);
    shares.Ran(1, 10 * i + 7, 10 * i + 10);
  }
  shares.Waiting(1, -9, 200);
  shares.Ran(0, 200, 450);
  const SimResult result = SharesOf(shares);
  EXPECT_EQ(result.share_windows, 51) << "one begins every 2 ms";
  // At the most there are 10 x 7 ms of class a and 10 x 3 of b in any of them.
  EXPECT_NEAR(result.share_error, 0.05, 1e-9);
  EXPECT_NEAR(result.classes[0].share, 0.7, 1e-9);
  EXPECT_NEAR(result.classes[1].busy_ms, 60, 1e-9);
}

// Fixed windows from 0 on would see nothing: each has its three quarters.
TEST(ShareMetricsTest, WindowsSlide) {
  const Workload workload = TwoClasses(0);
  ShareMetrics shares(workload, 4, 100);
  shares.Waiting(0, +9, 0);
  shares.Waiting(1, +9, 0);
  shares.Ran(0, 0, 75);
  shares.Ran(1, 75, 100);
  shares.Ran(1, 100, 125);
  shares.Ran(0, 125, 200);
  shares.Ran(0, 200, 210);
  const SimResult result = SharesOf(shares);
  // From 50 to 150: half each.
  EXPECT_NEAR(result.share_error, 0.25, 1e-9);
}

// Three years of steps of 2 ms would fill the memory.
TEST(ShareMetricsTest, AnOnlyClassTakesNoMemory) {
  Workload workload = TwoClasses(0);
  workload.classes.pop_back();
  ShareMetrics shares(workload, 4, 100);
  shares.Waiting(0, +1, 0);
  shares.Ran(0, 0, 30);
  shares.Ran(0, 1e11, 1e11 + 20);
  SimResult result;
  result.classes.resize(1);
  shares.AddTo(result);
  EXPECT_NEAR(result.classes[0].busy_ms, 50, 1e-3);
  EXPECT_EQ(result.share_windows, 0);
}

TEST(ShareMetricsTest, WhatIsDueIncludesTheGuarantee) {
  const Workload workload = TwoClasses(0.8);
  ShareMetrics shares(workload, 4, 100);
  shares.Waiting(0, +9, 0);
  shares.Waiting(1, +9, 0);
  for (int i = 0; i < 30; ++i) {
    shares.Ran(0, 10 * i, 10 * i + 2);
    shares.Ran(1, 10 * i + 2, 10 * i + 10);
  }
  const SimResult result = SharesOf(shares);
  EXPECT_NEAR(result.classes[1].due, 0.8, 1e-9);
  EXPECT_GT(result.share_windows, 0);
  EXPECT_NEAR(result.share_error, 0, 1e-9);
}

TEST(ShareMetricsTest, WhatIsDueIsNotAboveTheMaximum) {
  Workload workload = TwoClasses(0);
  workload.classes[0].max_workers = 1;
  EXPECT_NEAR(SharesOf(ShareMetrics(workload, 4, 100)).classes[0].due, 0.25, 1e-9);
  EXPECT_NEAR(SharesOf(ShareMetrics(workload, 1, 100)).classes[0].due, 0.75, 1e-9);
}

TEST(ShareMetricsTest, WithoutAWindowNothingIsMeasured) {
  const Workload workload = TwoClasses(0);
  ShareMetrics shares(workload, 4, 100);
  shares.Waiting(0, +9, 0);
  shares.Ran(0, 0, 500);
  const SimResult result = SharesOf(shares);
  EXPECT_EQ(result.share_windows, 0);
  EXPECT_TRUE(std::isnan(result.classes[0].share));
  GridRun run{.point = 0, .policy = "fifo", .result = result};
  const std::vector<GridPoint> points(1);
  const std::string csv = CsvText(points, {run});
  EXPECT_THAT(csv, HasSubstr("share_windows,share_error,error\n"));
  EXPECT_THAT(csv, EndsWith(",0,,\n"));
  EXPECT_THAT(JsonText({}, points, {run}), HasSubstr("\"share_error\": null"));
  EXPECT_THAT(JsonText({}, points, {run}), HasSubstr("\"share\": null"));
  EXPECT_THAT(JsonText({}, points, {run}), Not(HasSubstr("\"share\": 0")));
  EXPECT_THAT(TableText(points, {run}), HasSubstr("      -     0.00\n"));
}

}  // namespace
}  // namespace gopmill::sim
