// SPDX-License-Identifier: Apache-2.0
#include "base/rational.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gopmill {
namespace {

TEST(Rational, ComparesValuesNotDigits) {
  EXPECT_EQ((Rational{1, 2}), (Rational{2, 4}));
  EXPECT_LT((Rational{24000, 1001}), (Rational{24, 1}));
  EXPECT_GT((Rational{-1, 3}), (Rational{-1, 2}));
}

TEST(Rational, NotGivenEqualsOnlyNotGiven) {
  EXPECT_EQ((Rational{}), (Rational{0, 0}));
  EXPECT_FALSE((Rational{} == Rational{0, 1}));
  EXPECT_FALSE(Rational{}.valid());
}

TEST(Rational, SumsAreExactWhereTheyFit) {
  EXPECT_EQ(Sum({1, 3}, {1, 6}).den, 2);
  EXPECT_EQ(Difference({1, 3}, {1, 2}), (Rational{-1, 6}));
  constexpr std::int64_t kParts = 1'000'000;
  // Their products have more than 64 bits.
  EXPECT_EQ(Difference({20'000'000'000'001, kParts}, {1, kParts}), (Rational{20'000'000, 1}));
  const Rational sum = Sum({4'500'000'001, kParts}, {1, 2'147'483'648});
  EXPECT_EQ(Difference(sum, {4'500'000'001, kParts}), (Rational{1, 2'147'483'648}));
}

TEST(Rational, SumsThatDoNotFitAreRounded) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Sum({kMost, 1}, {kMost, 1}), (Rational{kMost, 1}));
  EXPECT_EQ(Difference({-kMost, 1}, {kMost, 1}), (Rational{-kMost, 1}));
  const Rational fine = Sum({kMost - 1, kMost}, {1, kMost - 2});
  EXPECT_TRUE(fine.valid());
  EXPECT_DOUBLE_EQ(fine.ToDouble(), 1);
}

TEST(Rescale, RoundsInTheNamedDirectionOnBothSidesOfZero) {
  const Rational from{1, 1000};
  const Rational to{1, 24};
  EXPECT_EQ(Rescale(62, from, to, Round::kDown), 1);
  EXPECT_EQ(Rescale(62, from, to, Round::kUp), 2);
  EXPECT_EQ(Rescale(62, from, to), 1);
  EXPECT_EQ(Rescale(63, from, to), 2);
  EXPECT_EQ(Rescale(-62, from, to, Round::kDown), -2);
  EXPECT_EQ(Rescale(-62, from, to, Round::kUp), -1);
}

TEST(Rescale, KeepsExactTicksThereAndBack) {
  const Rational frame{1001, 30000};
  const Rational tick{1, 90000};
  for (std::int64_t n : {0LL, 1LL, 15LL, 1'000'000LL, -7LL}) {
    EXPECT_EQ(Rescale(n, frame, tick), n * 3003);
    EXPECT_EQ(Rescale(n * 3003, tick, frame), n);
  }
}

TEST(RescaleDeathTest, ATimeBaseOfNothingIsSaid) {
  EXPECT_DEATH(static_cast<void>(Rescale(1, Rational{0, 1}.Inverse(), {1, 90'000})),
               "check failed");
}

TEST(Rescale, DoesNotOverflowOnLargeTimes) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_EQ(Rescale(big, {1, 90000}, {1, 90000}), big);
}

}  // namespace
}  // namespace gopmill
