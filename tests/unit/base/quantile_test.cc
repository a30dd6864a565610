// SPDX-License-Identifier: Apache-2.0
#include "base/quantile.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace gopmill {
namespace {

TEST(Quantile, IsLinearBetweenTheTwoValuesNextToIt) {
  EXPECT_EQ(Quantile({7}, 0.99), 7);
  EXPECT_NEAR(Quantile({10, 20, 30, 40, 50}, 0.9), 46, 1e-9);
  EXPECT_EQ(Quantile({1, 2, 3}, 0), 1);
  EXPECT_EQ(Quantile({1, 2, 3}, 1), 3);
  std::vector<float> values = {5, 1, 4, 2, 3};
  EXPECT_EQ(Quantile(std::span(values), 0.5), 3);
  EXPECT_NEAR(Quantile(std::span(values), 0.99), 4.96, 1e-6);
  EXPECT_NEAR(Quantile(std::span(values), 0.1), 1.4, 1e-6);
}

TEST(Quantile, OfNothingIsZero) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile(std::span<float>(), 0.5), 0);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoThere) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace gopmill
