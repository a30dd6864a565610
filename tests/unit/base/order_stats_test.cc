// SPDX-License-Identifier: Apache-2.0
#include "base/order_stats.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TimePoint At(double ms) {
  return TimePoint(
      std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms)));
}

OrderStats Finished(std::initializer_list<std::int64_t> order) {
  OrderStats stats;
  double now = 0;
  for (const std::int64_t unit : order) {
    stats.OnFinished({unit}, At(now += 10), static_cast<double>(unit));
  }
  return stats;
}

TEST(OrderStats, InOrderIsZero) {
  const OrderStats stats = Finished({0, 1, 2, 3});
  EXPECT_EQ(stats.out_of_order_rate(), 0);
  EXPECT_EQ(stats.max_extent(), 0);
}

// RFC 4737 section 4.2.3: extent is the distance to the first one with a higher number.
TEST(OrderStats, ASingleLateUnitCountsOnceWithItsExtent) {
  const OrderStats stats = Finished({1, 2, 3, 0, 4});
  EXPECT_DOUBLE_EQ(stats.out_of_order_rate(), 1.0 / 5);
  EXPECT_EQ(stats.max_extent(), 3);
}

TEST(OrderStats, EachUnitAfterALaterOneCounts) {
  const OrderStats stats = Finished({3, 0, 1, 2});
  EXPECT_DOUBLE_EQ(stats.out_of_order_rate(), 3.0 / 4);
  EXPECT_EQ(stats.max_extent(), 3);
  EXPECT_DOUBLE_EQ(stats.mean_extent(), 2.0);
}

TEST(OrderStats, ExtentReachesOnlyToTheFirstHigherOne) {
  const OrderStats stats = Finished({0, 5, 9, 7});
  EXPECT_EQ(stats.reordered(), 1);
  EXPECT_EQ(stats.max_extent(), 1) << "9 at place 2 is the first above 7";
}

TEST(DepartureStats, EvenGapsHaveNoDeviation) {
  DepartureStats stats;
  for (int i = 0; i < 10; ++i) stats.Add(At(i * 40.0), i * 0.04);
  EXPECT_NEAR(stats.gap_deviation_ms(), 0, 1e-9);
  EXPECT_NEAR(stats.jitter_ms(), 0, 1e-9);
}

TEST(DepartureStats, DeviationIsThatOfTheGaps) {
  DepartureStats stats;
  double now = 0;
  for (const double gap : {0.0, 10.0, 30.0, 10.0, 30.0}) stats.Add(At(now += gap), 0);
  EXPECT_NEAR(stats.gap_deviation_ms(), 11.547, 0.001);  // sample deviation of 10 30 10 30
}

// RFC 3550 section 6.4.1: J(1) = |D| / 16 for the first difference.
TEST(DepartureStats, JitterFollowsTheRfc) {
  DepartureStats stats;
  stats.Add(At(0), 0.0);
  stats.Add(At(56), 0.04);
  EXPECT_NEAR(stats.jitter_ms(), 1.0, 1e-9);
  stats.Add(At(96), 0.08);
  EXPECT_NEAR(stats.jitter_ms(), 1.0 - 1.0 / 16, 1e-9);
}

}  // namespace
}  // namespace gopmill
