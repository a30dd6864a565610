// SPDX-License-Identifier: Apache-2.0
#include "media/measured_rate.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

namespace gopmill {
namespace {

using ::testing::Optional;

constexpr Rational kMillis{1, 1000};

// Pictures at a rate, in whole milliseconds, of which `shown(number)` are there.
template <typename Shown>
PictureTimes At(double fps, int count, Shown shown) {
  PictureTimes times;
  for (int n = 0; n < count; ++n) {
    if (shown(n)) times.push_back(std::llround(n * 1000 / fps));
  }
  return times;
}

PictureTimes Steady(double fps, int count = 64) {
  return At(fps, count, [](int /*n*/) { return true; });
}

std::optional<Rational> PeakOf(std::vector<PictureTimes> places) {
  const auto peak = FindPeakRate(places, kMillis);
  return peak ? std::optional(peak->usual) : std::nullopt;
}

TEST(UsualRate, WholeNumbersAndThoseOver1001) {
  for (const Rational fps :
       {Rational{25, 1}, Rational{30'000, 1001}, Rational{24'000, 1001}, Rational{1, 1},
        Rational{2997, 100}, Rational{2398, 100}, Rational{60'000, 1001}, Rational{240, 1}}) {
    EXPECT_TRUE(IsUsualRate(fps)) << fps.ToDouble();
  }
  for (const Rational fps : {Rational{15'860, 597}, Rational{2987, 100}, Rational{25, 2},
                             Rational{1, 3}, Rational{0, 1}}) {
    EXPECT_FALSE(IsUsualRate(fps)) << fps.ToDouble();
  }
}

TEST(PeakRate, IsThatOfTheFastestPlace) {
  EXPECT_THAT(PeakOf({Steady(15), Steady(60), Steady(20), Steady(30)}), Optional(Rational{60, 1}));
  EXPECT_THAT(PeakOf({Steady(15), Steady(20), Steady(15)}), Optional(Rational{20, 1}));
}

TEST(PeakRate, HoldsWherePicturesAreLeftOut) {
  const auto gaps = [](int n) { return n % 8 != 7; };
  EXPECT_THAT(PeakOf({At(60, 64, gaps), Steady(15)}), Optional(Rational{60, 1}));
}

TEST(PeakRate, TellsWholeRatesFromThoseOver1001) {
  EXPECT_THAT(PeakOf({Steady(30)}), Optional(Rational{30, 1}));
  EXPECT_THAT(PeakOf({Steady(30'000 / 1001.0)}), Optional(Rational{30'000, 1001}));
  EXPECT_THAT(PeakOf({Steady(60'000 / 1001.0), Steady(24)}), Optional(Rational{60'000, 1001}));
}

TEST(PeakRate, TakesTimesThatWaverForTheirAverage) {
  PictureTimes wavering = Steady(30);
  constexpr std::array<int, 5> kOff{0, 4, -3, 5, -5};
  for (std::size_t i = 0; i < wavering.size(); ++i) wavering[i] += kOff[i % kOff.size()];
  EXPECT_THAT(PeakOf({wavering}), Optional(Rational{30, 1}));
}

TEST(PeakRate, AFewFastPicturesAreNoRate) {
  PictureTimes times = Steady(25);
  times.insert(times.begin() + 11, {times[10] + 1, times[10] + 2});
  EXPECT_THAT(PeakOf({times, Steady(25), Steady(25)}), Optional(Rational{25, 1}));
}

TEST(PeakRate, OddRatesBecomeTheNextAboveAndNoneIsAbove60) {
  EXPECT_THAT(PeakOf({Steady(35)}), Optional(Rational{48, 1}));
  EXPECT_THAT(PeakOf({Steady(120)}), Optional(Rational{60, 1}));
  EXPECT_THAT(PeakOf({Steady(2)}), Optional(Rational{5, 1}));
}

TEST(PeakRate, TellsWhatItMeasured) {
  const auto peak = FindPeakRate(std::vector<PictureTimes>{Steady(12.5)}, kMillis);
  ASSERT_TRUE(peak);
  EXPECT_NEAR(peak->measured, 12.5, 0.01);
  EXPECT_EQ(peak->usual, (Rational{12, 1}));
}

TEST(PeakRate, OfTooFewPicturesIsNotKnown) {
  EXPECT_FALSE(PeakOf({}));
  EXPECT_FALSE(PeakOf({Steady(25, 6), Steady(25, 1), {}}));
  EXPECT_FALSE(PeakOf({{7, 7, 7, 7, 7, 7, 7}})) << "all at once";
}

}  // namespace
}  // namespace gopmill
