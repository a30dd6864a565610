// SPDX-License-Identifier: Apache-2.0
#include "server/bench/statistics.h"

#include <gmock/gmock.h>

#include <random>

namespace gopmill::bench {
namespace {

using ::testing::DoubleNear;

// Coverages from tables of the binomial distribution.
TEST(MedianIntervalTest, SkipsAsManyValuesAsTheLevelAllows) {
  const Interval ten = MedianInterval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(ten.median, 5.5);
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  EXPECT_THAT(ten.coverage, DoubleNear(0.9785, 1e-4));
  const Interval six = MedianInterval({6, 5, 4, 3, 2, 1});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  EXPECT_THAT(six.coverage, DoubleNear(0.96875, 1e-9));
}

TEST(MedianIntervalTest, FewValuesGiveTheirRangeAndSayWhatItIsWorth) {
  const Interval three = MedianInterval({3, 1, 2});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 3);
  EXPECT_THAT(three.coverage, DoubleNear(0.75, 1e-9));
  EXPECT_EQ(MedianInterval({5}).coverage, 0);
  EXPECT_EQ(MedianInterval({}).median, 0);
}

// The promise itself, on a skewed distribution.
TEST(MedianIntervalTest, HoldsTheTrueMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> values(1.0);
  const double true_median = std::log(2.0);
  int held = 0;
  constexpr int kTrials = 4000;
  double coverage = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> sample(11);
    for (double& value : sample) value = values(random);
    const Interval interval = MedianInterval(std::move(sample));
    coverage = interval.coverage;
    held += interval.low <= true_median && true_median <= interval.high ? 1 : 0;
  }
  EXPECT_THAT(static_cast<double>(held) / kTrials, DoubleNear(coverage, 0.012));
}

}  // namespace
}  // namespace gopmill::bench
