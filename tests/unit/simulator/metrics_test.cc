// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gopmill::sim {
namespace {

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
  EXPECT_EQ(result.jitter_before_ms, 0);
  EXPECT_EQ(result.jitter_after_ms, 0);
  EXPECT_EQ(result.max_latency_ms, 40);
}

TEST(OrderMetricsTest, ALateUnitCountsOnceWithItsExtent) {
  const SimResult result = OrderOf(OneStream(4), {1, 2, 3, 0});
  EXPECT_EQ(result.out_of_order, 0.25);
  EXPECT_EQ(result.mean_extent, 3);
  EXPECT_EQ(result.max_extent, 3U);
  EXPECT_EQ(result.jitter_before_ms, 0);
  // Behind the reorderer all leave at once.
  EXPECT_EQ(result.jitter_after_ms, 0);
}

TEST(OrderMetricsTest, TheReordererMakesGapsOfDisorder) {
  // Departures in order: unit 0 at 20, 1 at 20, 2 at 40, 3 at 40.
  const SimResult result = OrderOf(OneStream(4), {1, 0, 3, 2});
  EXPECT_EQ(result.out_of_order, 0.5);
  EXPECT_EQ(result.jitter_before_ms, 0);
  EXPECT_NEAR(result.jitter_after_ms, std::sqrt((2 * 400.0 / 9 + 4 * 400.0 / 9 * 1) / 2) * 1.0,
              1.0);
}

TEST(PercentileTest, TakesTheValueThatCoversTheShare) {
  std::vector<float> values = {5, 1, 4, 2, 3};
  EXPECT_EQ(Percentile(values, 0.5), 3);
  EXPECT_EQ(Percentile(values, 0.99), 5);
  EXPECT_EQ(Percentile(values, 0), 1);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

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

TEST(ShareMetricsTest, ComparesOnlyWindowsInWhichAllAreBacklogged) {
  Workload workload = OneStream(1);
  workload.classes = {{.name = "a", .weight = 3}, {.name = "b", .weight = 1}};
  ShareMetrics shares(workload, 100);
  shares.Waiting(0, +9, 0);
  shares.Waiting(1, +9, 0);
  shares.Ran(0, 0, 70);
  shares.Ran(1, 70, 100);
  shares.Ran(0, 100, 175);
  shares.Ran(1, 175, 200);
  shares.Waiting(1, -9, 210);
  shares.Ran(0, 200, 450);
  SimResult result;
  result.classes.resize(2);
  shares.AddTo(result);
  EXPECT_EQ(result.share_windows, 2U);
  EXPECT_NEAR(result.share_error, 0.05, 1e-9);
  EXPECT_NEAR(result.classes[0].share, 145.0 / 200, 1e-9);
  EXPECT_NEAR(result.classes[1].busy_ms, 55, 1e-9);
}

}  // namespace
}  // namespace gopmill::sim
