// SPDX-License-Identifier: Apache-2.0
#include "media/bit_spread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gopmill {
namespace {

constexpr Rational kFps{25, 1};
constexpr SpreadTerms kTerms{.fps = kFps, .bitrate = 400'000, .transparent_crf = 12};

// Units of two seconds that took so many bits at CRF 27.
MovieMeasure Measured(const std::vector<double>& bits) {
  MovieMeasure measure{.crf = 27, .same_encoder = true, .units = {}};
  std::int64_t frame = 0;
  for (const double unit : bits) {
    measure.units.push_back({.first_frame = frame, .end_frame = frame + 50, .bits = unit});
    frame += 50;
  }
  return measure;
}

std::vector<double> Rates(const UnitBudgets& budgets, std::size_t units) {
  std::vector<double> rates;
  for (std::size_t n = 0; n < units; ++n) {
    const auto first = static_cast<std::int64_t>(n) * 50;
    const UnitBudget* found = budgets.Find(first, first + 50);
    rates.push_back(found == nullptr ? -1 : static_cast<double>(found->bps));
  }
  return rates;
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

TEST(BitSpreadTest, BudgetsAddUpToTheRate) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> bits(13, 1.2);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> movie(1 + random() % 60);
    for (double& unit : movie) unit = bits(random);
    const auto rates = Rates(UnitBudgets(Measured(movie), kTerms), movie.size());
    EXPECT_NEAR(Sum(rates) / static_cast<double>(movie.size()), 400'000, 10);
  }
}

TEST(BitSpreadTest, HardUnitsGetMoreAndLessThanTheirPart) {
  const auto rates = Rates(UnitBudgets(Measured({1e6, 4e6}), kTerms), 2);
  EXPECT_NEAR(rates[1] / rates[0], std::pow(4, kSpreadExponent), 0.01);
}

TEST(BitSpreadTest, NobodyGetsMoreThanMaxrateLeavesAndTheOthersGetTheRest) {
  SpreadTerms terms = kTerms;
  terms.maxrate = 600'000;
  const auto rates = Rates(UnitBudgets(Measured({3e5, 3e5, 3e5, 6e7}), terms), 4);
  EXPECT_LE(rates[3], 600'000);
  EXPECT_NEAR(Sum(rates), 4 * 400'000, 10);
}

TEST(BitSpreadTest, NobodyGetsMoreThanTheLevelAllows) {
  SpreadTerms terms = kTerms;
  terms.most_bps = 1'000'000;
  std::vector<double> movie(40, 5e5);
  movie[7] = movie[8] = 6e7;
  const auto rates = Rates(UnitBudgets(Measured(movie), terms), movie.size());
  EXPECT_NEAR(rates[7], 1'000'000, 1);
  EXPECT_NEAR(Sum(rates), 40 * 400'000, 40);
}

// Bits that nobody would see stay unspent when all units have enough.
TEST(BitSpreadTest, PicturesThatNeedLittleGetLittle) {
  const auto rates = Rates(UnitBudgets(Measured({1e4, 1e4}), kTerms), 2);
  EXPECT_LT(Sum(rates), 100'000);
}

TEST(BitSpreadTest, AUnitThatTookNothingStillGetsARate) {
  const auto rates = Rates(UnitBudgets(Measured({0, 1e6}), kTerms), 2);
  EXPECT_GE(rates[0], 1000);
  EXPECT_TRUE(std::isfinite(rates[1]));
}

// The source has changed since: the planner's own budget is better than another unit's.
TEST(BitSpreadTest, OnlyUnitsThatWereMeasuredAreFound) {
  const UnitBudgets budgets(Measured({1e6, 1e6}), kTerms);
  EXPECT_NE(budgets.Find(50, 100), nullptr);
  EXPECT_EQ(budgets.Find(50, 99), nullptr);
  EXPECT_EQ(budgets.Find(49, 100), nullptr);
  EXPECT_EQ(budgets.Find(100, 150), nullptr);
  EXPECT_EQ(UnitBudgets().Find(0, 50), nullptr);
}

TEST(BitSpreadTest, AnotherEncodersBitsAreNoPassOfThisOne) {
  MovieMeasure measure = Measured({1e6});
  EXPECT_EQ(UnitBudgets(measure, kTerms).crf(), 27);
  measure.same_encoder = false;
  EXPECT_EQ(UnitBudgets(measure, kTerms).crf(), 0);
}

TEST(BitSpreadTest, TwoMeasuresTellHowUnitsAnswer) {
  const MovieMeasure before = Measured({4e6, 8e6, 1e6, 0, 1e6});
  MovieMeasure measure = Measured({1e6, 1e6, 1e6, 0, 2e6});
  measure.crf = before.crf + 12;
  TakeSteps(measure, before);
  const UnitBudgets budgets(measure, kTerms);
  EXPECT_NEAR(budgets.Find(0, 50)->measured_step, 6, 1e-9);
  EXPECT_NEAR(budgets.Find(50, 100)->measured_step, 4, 1e-9);
  for (const int unit : {2, 3, 4}) {
    EXPECT_EQ(budgets.Find(50 * unit, 50 * unit + 50)->measured_step, 0) << "took no less";
  }
}

TEST(BitSpreadTest, MeasuresOfOtherUnitsTellNothing) {
  MovieMeasure measure = Measured({1e6, 1e6});
  TakeSteps(measure, Measured({4e6}));
  EXPECT_EQ(measure.units[0].step, 0);
}

TEST(BitSpreadTest, FindsTheCrfOfTheWholeMovie) {
  // Two seconds at 400 kb/s are 8e5 bits.
  EXPECT_NEAR(CrfFor(Measured({8e5, 8e5}), kFps, 400'000), 27, 1e-9);
  EXPECT_NEAR(CrfFor(Measured({8e5, 2.4e6}), kFps, 400'000), 27 + kCrfPerOctave, 1e-9);
  EXPECT_EQ(CrfFor(Measured({}), kFps, 400'000), 27);
}

}  // namespace
}  // namespace gopmill
