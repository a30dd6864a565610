// SPDX-License-Identifier: Apache-2.0
#include "codec/stream_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "codec/unit_transcoder.h"

namespace gopmill {
namespace {

constexpr Rational kFps{24, 1};
constexpr std::int64_t kFrames = 36;  // 1.5 s
constexpr double kSeconds = 1.5;
constexpr double kBps = 400'000;

UnitSpec Spec(std::int64_t n) {
  return {.index = UnitIndex{n},
          .first_frame = n * kFrames,
          .end_frame = (n + 1) * kFrames,
          .budget_bps = static_cast<std::int64_t>(kBps)};
}

// What unit n takes of what it aims at.
using Encoder = std::function<double(std::int64_t n)>;

UnitStats Taking(double part, const RateAim& aim, double crf = 25) {
  UnitStats stats;
  stats.bytes = static_cast<std::int64_t>(part * aim.bps * kSeconds / 8);
  stats.lesson = {.key = 0.7, .inter = 1.4, .crf = crf};
  return stats;
}

struct Ran {
  std::vector<RateAim> aims;
  std::vector<double> unit_bits;  // in the order of the movie
  double bits = 0;
  // Largest distance of the mean rate over `units` units from the rate asked for, relative.
  [[nodiscard]] double WorstMiss(std::size_t units, std::size_t from) const {
    double worst = 0;
    for (std::size_t n = from; n + units <= unit_bits.size(); ++n) {
      double sum = 0;
      for (std::size_t i = n; i < n + units; ++i) sum += unit_bits[i];
      worst = std::max(worst, std::abs(sum / (static_cast<double>(units) * kSeconds * kBps) - 1));
    }
    return worst;
  }
  [[nodiscard]] double MeanBps() const {
    return bits / (static_cast<double>(aims.size()) * kSeconds);
  }
};

// Units are begun in order, as soon as what they need is known, and end in an order of chance.
Ran RunUnits(std::int64_t units, const Encoder& encoder, unsigned seed = 1,
             std::int64_t maxrate = 0) {
  StreamRate rate(kFps, maxrate);
  std::mt19937 random(seed);
  Ran ran;
  std::vector<std::int64_t> in_work;
  std::int64_t begun = 0;
  ran.unit_bits.resize(static_cast<std::size_t>(units));
  for (std::int64_t n = 0; n < units; ++n) rate.OnPlanned(Spec(n));
  while (begun < units || !in_work.empty()) {
    if (begun < units && rate.Knows(UnitIndex{begun})) {
      ran.aims.push_back(rate.AimOf(UnitIndex{begun}));
      in_work.push_back(begun++);
      if (random() % 2 == 0) continue;
    }
    std::swap(in_work[random() % in_work.size()], in_work.back());
    const std::int64_t n = in_work.back();
    in_work.pop_back();
    const UnitStats stats = Taking(encoder(n), ran.aims[static_cast<std::size_t>(n)]);
    ran.unit_bits[static_cast<std::size_t>(n)] = 8.0 * static_cast<double>(stats.bytes);
    ran.bits += 8.0 * static_cast<double>(stats.bytes);
    rate.OnEnded(UnitIndex{n}, stats);
  }
  return ran;
}

TEST(StreamRateTest, TheFirstUnitsAimAtTheirBudgets) {
  const Ran ran = RunUnits(StreamRate::Lag(0) + 1, [](std::int64_t) { return 1.3; });
  for (const RateAim& aim : ran.aims) {
    EXPECT_EQ(aim.bps, kBps);
    EXPECT_EQ(aim.usual_crf, 0);
  }
}

TEST(StreamRateTest, WhoIsDoneFirstMakesNoDifference) {
  const Encoder encoder = [](std::int64_t n) { return 0.7 + 0.1 * static_cast<double>(n % 7); };
  const Ran expected = RunUnits(1200, encoder, 1);
  for (unsigned seed = 2; seed < 8; ++seed) {
    const Ran ran = RunUnits(1200, encoder, seed);
    for (std::size_t n = 0; n < ran.aims.size(); ++n) {
      ASSERT_EQ(ran.aims[n].bps, expected.aims[n].bps) << n;
      ASSERT_EQ(ran.aims[n].usual_crf, expected.aims[n].usual_crf) << n;
      ASSERT_EQ(ran.aims[n].key_scale, expected.aims[n].key_scale) << n;
      ASSERT_EQ(ran.aims[n].inter_scale, expected.aims[n].inter_scale) << n;
      ASSERT_EQ(ran.aims[n].most_share, expected.aims[n].most_share) << n;
    }
  }
}

// Forty units are a minute.
TEST(StreamRateTest, AMinuteOfUnitsThatMissAlikeIsWithinTwoPercent) {
  for (const double part : {0.92, 0.95, 1.04, 1.08}) {
    const Ran ran = RunUnits(40, [&](std::int64_t) { return part; });
    EXPECT_NEAR(ran.MeanBps() / kBps, 1, 0.02) << part;
  }
}

TEST(StreamRateTest, WhatStillPicturesLeaveOverGoesToTheOthers) {
  const Ran ran = RunUnits(120, [](std::int64_t n) { return n % 8 < 2 ? 0.5 : 1.0; });
  EXPECT_NEAR(ran.MeanBps() / kBps, 1, 0.02);
}

// What is learnt late comes when the pictures are others again: it may not make things worse. An
// hour of pictures that take 4 % more and less in turns, of several lengths.
TEST(StreamRateTest, NoMinuteOfALongMovieIsMadeWorse) {
  for (const std::int64_t turn : {20, 40, 80, 400}) {
    const Encoder encoder = [turn](std::int64_t n) { return n / turn % 2 == 0 ? 0.96 : 1.04; };
    const Ran ran = RunUnits(2400, encoder);
    // After long turns the change itself is seen, since it was corrected for what was before.
    EXPECT_LT(ran.WorstMiss(40, 200), turn < 400 ? 0.06 : 0.1) << turn;
    EXPECT_NEAR(ran.MeanBps() / kBps, 1, 0.01) << turn;
  }
}

TEST(StreamRateTest, AfterThreeMinutesThatNeedLittleTheRestIsAlmostAsBefore) {
  const Ran ran = RunUnits(1600, [](std::int64_t n) { return n >= 600 && n < 720 ? 0.6 : 1.0; });
  EXPECT_LT(ran.WorstMiss(40, 720), 0.15);
}

// A unit that was encoded again has not taken what it first aimed at.
TEST(StreamRateTest, UnitsThatAimedOtherwiseTeachNothingOfMissesButOfPictures) {
  StreamRate rate(kFps, 0);
  for (std::int64_t n = 0; n < 30; ++n) {
    rate.OnPlanned(Spec(n));
    const RateAim aim = rate.AimOf(UnitIndex{n});
    EXPECT_LE(aim.bps, 1.25 * kBps) << n;  // its part of what was left over, and no miss
    EXPECT_TRUE(n < 20 || aim.usual_crf > 0) << n;
    UnitStats stats = Taking(0.8, aim);
    stats.aimed_otherwise = true;
    rate.OnEnded(UnitIndex{n}, stats);
  }
}

// After an hour of pictures that need less than they may take, nothing is made up for at once.
TEST(StreamRateTest, SavingsAreForgottenInTime) {
  const Ran ran = RunUnits(2400, [](std::int64_t) { return 0.1; });
  for (const RateAim& aim : ran.aims) EXPECT_LE(aim.bps, 1.4 * kBps);
}

TEST(StreamRateTest, NoUnitAimsAboveTheLargestRate) {
  const Encoder encoder = [](std::int64_t n) { return n < 10 ? 0.5 : 1.0; };
  const auto most = [](const Ran& ran) {
    return std::ranges::max(ran.aims, {}, &RateAim::bps).bps;
  };
  EXPECT_GT(most(RunUnits(40, encoder)), 1.1 * kBps);
  const Ran capped = RunUnits(40, encoder, 1, 420'000);
  for (const RateAim& aim : capped.aims) {
    const double share = aim.usual_crf > 0 ? aim.most_share : 1;  // who knows nothing is not harder
    EXPECT_LE(aim.bps * share, 420'001);
  }
}

TEST(StreamRateTest, PassesOnWhatEstimatesAreToBeMultipliedWith) {
  const RateAim aim = RunUnits(60, [](std::int64_t) { return 1.0; }).aims.back();
  EXPECT_NEAR(aim.usual_crf, 25, 1e-9);
  EXPECT_LT(aim.key_scale, 0.8);    // of 0.7
  EXPECT_GT(aim.inter_scale, 1.2);  // of 1.4
}

// Units that taught nothing (an encoder without control, a unit of one picture) change nothing.
TEST(StreamRateTest, ALessonMayBeEmpty) {
  StreamRate rate(kFps, 0);
  for (std::int64_t n = 0; n < 40; ++n) {
    rate.OnPlanned(Spec(n));
    ASSERT_TRUE(rate.Knows(UnitIndex{n}));
    const RateAim aim = rate.AimOf(UnitIndex{n});
    EXPECT_EQ(aim.key_scale, 1);
    EXPECT_EQ(aim.usual_crf, 0);
    EXPECT_TRUE(std::isfinite(aim.bps));
    rate.OnEnded(UnitIndex{n}, UnitStats{});
  }
}

TEST(StreamRateTest, AUnitWaitsForThoseBeforeItsLag) {
  StreamRate rate(kFps, 0);
  for (std::int64_t n = 0; n < 12; ++n) rate.OnPlanned(Spec(n));
  std::int64_t free = 0;
  while (rate.Knows(UnitIndex{free})) ++free;
  EXPECT_EQ(free, 10);  // 8, and one more from unit 8 on, so unit 9 waits for none
  const UnitStats stats = Taking(1, {.bps = kBps});
  rate.OnEnded(UnitIndex{1}, stats);
  EXPECT_FALSE(rate.Knows(UnitIndex{10}));  // the first has not ended
  rate.OnEnded(UnitIndex{0}, stats);
  EXPECT_TRUE(rate.Knows(UnitIndex{11}));
}

TEST(StreamRateTest, TheLagGrowsSoThatLargeMachinesAreBusy) {
  EXPECT_EQ(StreamRate::Lag(0), 8);
  EXPECT_EQ(StreamRate::Lag(160), 28);
  EXPECT_EQ(StreamRate::Lag(100'000), 64);
  for (std::int64_t n = 1; n < 1000; ++n) {
    // What was known for a unit is known for the next one.
    EXPECT_GE(n - StreamRate::Lag(n), n - 1 - StreamRate::Lag(n - 1)) << n;
  }
}

TEST(StreamRateTest, IsForEncodersThatAreSteered) {
  EncoderSpec spec;
  EXPECT_TRUE(StreamRate::Applies(spec));
  spec.codec = VideoCodec::kHevc;
  EXPECT_FALSE(StreamRate::Applies(spec));
  spec = EncoderSpec{};
  spec.quality = Quality::kBest;
  EXPECT_FALSE(StreamRate::Applies(spec));
  spec = EncoderSpec{};
  spec.rate_mode = RateMode::kCrf;
  EXPECT_FALSE(StreamRate::Applies(spec));
  spec = EncoderSpec{};
  spec.low_delay = true;
  EXPECT_FALSE(StreamRate::Applies(spec));
}

}  // namespace
}  // namespace gopmill
