// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "codec/crf_scale.h"
#include "codec/unit_rate.h"
#include "media/bit_spread.h"

namespace gopmill {
namespace {

constexpr double kPixels = 640.0 * 360 * 48;

// Passes until the search is content; bits of the kept pass.
struct Outcome {
  int passes = 0;
  double kept = 0, crf = 0;
};
template <class Encoder>
Outcome Search(double bits, const Encoder& encoder) {
  RateSearch search(bits, kPixels);
  Outcome outcome;
  for (bool done = false; !done && outcome.passes < 100;) {
    const double crf = search.crf();
    const double taken = encoder(crf);
    ++outcome.passes;
    done = search.Done(taken, 1);
    if (search.newest_is_best()) outcome = {outcome.passes, taken, crf};
  }
  return outcome;
}

TEST(RateSearchTest, FindsTheFactorWhateverThePicturesTake) {
  for (const double complexity : {1e6, 1e7, 1e8, 1e9}) {
    for (const double step : {3.5, 5.5, 9.0}) {
      const double bits = complexity * std::exp2(-27.3 / step);
      const Outcome found =
          Search(bits, [&](double crf) { return complexity * std::exp2(-crf / step); });
      EXPECT_NEAR(found.kept / bits, 1, kSearchTolerance + 0.001) << complexity << " " << step;
      EXPECT_LE(found.passes, kMaxSearchPasses);
    }
  }
}

TEST(RateSearchTest, FollowsACurveThatIsNotALine) {
  const Outcome found = Search(
      2e6, [](double crf) { return 3e8 * std::exp2(-crf / 5) + 4e6 * std::exp2(-crf / 20); });
  EXPECT_NEAR(found.kept / 2e6, 1, kSearchTolerance + 0.001);
}

TEST(RateSearchTest, DoesNotSpendBitsThatNobodySees) {
  const Outcome found = Search(1e9, [](double crf) { return 1e5 * std::exp2(-crf / 6); });
  EXPECT_EQ(found.crf, kTransparentCrf);
  EXPECT_LE(found.passes, 3);
}

TEST(RateSearchTest, EndsWhenPicturesCannotBeCodedSoSmall) {
  const Outcome found = Search(1000, [](double crf) { return 1e5 + 1e6 * std::exp2(-crf / 6); });
  EXPECT_EQ(found.crf, kHighestCrf);
  EXPECT_LE(found.passes, kMaxSearchPasses);
}

TEST(RateSearchTest, AnEncoderThatIgnoresTheFactorEndsIt) {
  EXPECT_LE(Search(1e6, [](double) { return 2e6; }).passes, kMaxSearchPasses);
  EXPECT_LE(Search(1e6, [](double) { return 0.0; }).passes, kMaxSearchPasses);
}

TEST(RateSearchTest, APassThatBreaksTheVbvIsNotKeptAndLowersTheRate) {
  RateSearch search(1e6, kPixels);
  const double first = search.crf();
  ASSERT_FALSE(search.Done(1e6, 0.8)) << "the rate is met, the VBV is not";
  EXPECT_GT(search.crf(), first);
  ASSERT_TRUE(search.Done(8e5, 1)) << "the lower rate is met";
  EXPECT_TRUE(search.newest_is_best());
}

// The movie was analysed at another CRF: the search goes on from there.
TEST(RateSearchTest, APassBeforeTheSearchSavesOne) {
  const auto encoder = [](double crf) { return 1e8 * std::exp2(-crf / kCrfPerOctave); };
  const double bits = encoder(33);
  RateSearch search(bits, kPixels, RateSearch::Known{.crf = 27, .bits = encoder(27)});
  EXPECT_NEAR(search.crf(), 33, 0.1);
  EXPECT_TRUE(search.Done(encoder(search.crf()), 1));
  EXPECT_TRUE(search.newest_is_best());
}

// It was analysed at two: no pass is lost to find out how pictures answer.
TEST(RateSearchTest, AStepThatIsKnownIsTaken) {
  for (const double step : {3.5, 9.0}) {
    const auto encoder = [&](double crf) { return 1e8 * std::exp2(-crf / step); };
    RateSearch search(encoder(33), kPixels,
                      RateSearch::Known{.crf = 27, .bits = encoder(27), .step = step});
    EXPECT_NEAR(search.crf(), 33, 0.1);
    EXPECT_TRUE(search.Done(encoder(search.crf()), 1)) << step;
  }
}

// Two measures that hardly differ say nothing.
TEST(RateSearchTest, AStepThatNoEncoderHasIsNotTaken) {
  RateSearch search(5e5, kPixels, RateSearch::Known{.crf = 27, .bits = 1e6, .step = 1e4});
  EXPECT_LT(search.crf(), 42);
}

// What was measured before may be nearer, but its packets are gone.
TEST(RateSearchTest, APassBeforeTheSearchIsNeverTheOneToKeep) {
  RateSearch search(1e6, kPixels, RateSearch::Known{.crf = 30, .bits = 1e6});
  search.Done(1.5e6, 1);
  EXPECT_TRUE(search.newest_is_best());
}

TEST(RateSearchTest, TheClosestPassIsKept) {
  RateSearch search(1e6, kPixels);
  ASSERT_FALSE(search.Done(1.05e6, 1));
  EXPECT_TRUE(search.newest_is_best());
  ASSERT_FALSE(search.Done(0.7e6, 1));
  EXPECT_FALSE(search.newest_is_best());
}

// An encoder without a VBV of its own takes what it is asked for, and what fits is found.
TEST(UnitRateTest, WhatWasCutForTheVbvIsGivenBackWhereItFits) {
  EncoderSpec spec;
  spec.codec = VideoCodec::kVp9;
  spec.fps = {25, 1};
  spec.maxrate = spec.bufsize = 1'000'000;
  UnitSpec unit;
  unit.end_frame = 50;
  unit.budget_bps = 800'000;
  for (const double most : {200'000., 170'000., 140'000., 110'000.}) {
    UnitRate rate(spec, unit, true, std::nullopt);
    double kept = 0, passes = 0;
    for (bool done = false; !done; ++passes) {
      const double bytes = rate.next().aim.bps * 2 / 8;
      // Cut by more than it takes, as where a few pictures are what does not fit.
      const double factor = bytes <= most ? 1 : 0.7 * most / bytes;
      const auto verdict =
          rate.Judge({.bytes = static_cast<std::int64_t>(bytes), .vbv_factor = factor});
      if (verdict.keep) kept = bytes;
      done = verdict.done;
    }
    EXPECT_LE(kept, most);
    EXPECT_GT(kept, 0.88 * most);
    EXPECT_LE(passes, 4);
  }
}

TEST(UnitRateTest, AfterAPassThatBreaksTheVbvTheEncoderKeepsItItself) {
  EncoderSpec spec;
  spec.fps = {25, 1};
  spec.maxrate = spec.bufsize = 1'000'000;
  spec.threads = 3;
  UnitSpec unit;
  unit.end_frame = 50;
  unit.budget_bps = 800'000;
  UnitRate rate(spec, unit, true, std::nullopt);
  EXPECT_FALSE(rate.next().one_thread);
  EXPECT_FALSE(rate.Judge({.bytes = 250'000, .vbv_factor = 0.8}).done);
  EXPECT_TRUE(rate.next().one_thread);
  EXPECT_NEAR(rate.next().aim.bps, 800'000, 1) << "its own model may be enough";
  EXPECT_FALSE(rate.Judge({.bytes = 240'000, .vbv_factor = 0.9}).done);
  EXPECT_NEAR(rate.next().aim.bps, 720'000, 1);
  EXPECT_TRUE(rate.Judge({.bytes = 200'000, .vbv_factor = 1}).done);
}

// A unit of half a second is steered first, and then searched for.
TEST(UnitRateTest, TheSteeredPassOfAShortUnitIsKeptWhereItIsTheBest) {
  EncoderSpec spec;
  spec.fps = {25, 1};
  spec.maxrate = spec.bufsize = 1'000'000;
  UnitSpec unit;
  unit.end_frame = 12;
  unit.budget_bps = 800'000;
  const auto bytes = [](double share) { return static_cast<std::int64_t>(48'000 * share); };
  UnitRate rate(spec, unit, true, std::nullopt);
  ASSERT_TRUE(rate.is_short());
  const auto steered = rate.Judge({.bytes = bytes(0.6), .vbv_factor = 1, .crf = 24});
  EXPECT_TRUE(steered.keep);
  ASSERT_FALSE(steered.done);
  EXPECT_FALSE(rate.Judge({.bytes = bytes(1.5), .vbv_factor = 0.9}).keep)
      << "nearer in octaves, but it breaks the VBV";
  EXPECT_FALSE(rate.Judge({.bytes = bytes(0.5), .vbv_factor = 1}).keep) << "farther away";
  EXPECT_TRUE(rate.Judge({.bytes = bytes(0.8), .vbv_factor = 1}).keep);
}

// Constant quality under a cap.
EncoderSpec Capped(double crf) {
  EncoderSpec spec;
  spec.fps = {25, 1};
  spec.rate_mode = RateMode::kCrf;
  spec.crf = crf;
  spec.maxrate = spec.bufsize = 1'000'000;
  return spec;
}

UnitSpec TwoSeconds() {
  UnitSpec unit;
  unit.end_frame = 50;
  return unit;
}

TEST(UnitRateTest, ACapThatIsBrokenRaisesTheRateFactor) {
  const EncoderSpec spec = Capped(20);
  const UnitSpec unit = TwoSeconds();
  UnitRate rate(spec, unit, true, std::nullopt);
  EXPECT_FALSE(rate.next().crf.has_value());
  EXPECT_FALSE(rate.Judge({.bytes = 250'000, .vbv_factor = 0.5}).done);
  EXPECT_NEAR(rate.next().crf.value(), 20 + kCrfPerOctave, 1.0 / 32);
  EXPECT_FALSE(rate.Judge({.bytes = 200'000, .vbv_factor = 0.99}).done)
      << "by one at least, and by more each time";
  EXPECT_NEAR(rate.next().crf.value(), 22 + kCrfPerOctave, 1.0 / 32);
  EXPECT_TRUE(rate.Judge({.bytes = 190'000, .vbv_factor = 1}).done);
}

TEST(UnitRateTest, ACapThatCannotBeKeptEndsAtTheCodecsLastFactor) {
  const EncoderSpec spec = Capped(49);
  const UnitSpec unit = TwoSeconds();
  UnitRate rate(spec, unit, true, std::nullopt);
  EXPECT_FALSE(rate.Judge({.bytes = 900'000, .vbv_factor = 0.1}).done);
  EXPECT_EQ(rate.next().crf, 51);
  EXPECT_TRUE(rate.Judge({.bytes = 800'000, .vbv_factor = 0.1}).done);
  UnitRate once(spec, unit, false, std::nullopt);
  EXPECT_TRUE(once.Judge({.bytes = 900'000, .vbv_factor = 0.1}).done)
      << "it cannot be decoded again";
}

// Its encoder keeps the cap by itself with pictures of 37, and lets the buffer run empty.
TEST(UnitRateTest, AFactorTooLowToMatterIsRaisedUntilItDoes) {
  const EncoderSpec spec = Capped(20);
  const UnitSpec unit = TwoSeconds();
  UnitRate rate(spec, unit, true, std::nullopt);
  double factor = 0.8;
  for (int passes = 1; !rate.Judge({.bytes = 300'000, .vbv_factor = factor}).done; ++passes) {
    ASSERT_LT(passes, 8);
    factor = rate.next().crf.value() > 37 ? 1 : 0.8;
  }
  EXPECT_EQ(factor, 1);
  EXPECT_LT(rate.next().crf.value(), 48);
}

TEST(UnitRateTest, AnAimTooHighToMatterIsLoweredUntilItDoes) {
  EncoderSpec spec = Capped(0);
  spec.rate_mode = RateMode::kBitrate;
  UnitSpec unit = TwoSeconds();
  unit.budget_bps = 1'000'000;
  UnitRate rate(spec, unit, true, std::nullopt);
  double factor = 0.87;
  while (!rate.Judge({.bytes = 280'000, .vbv_factor = factor}).done) {
    factor = rate.next().aim.bps < 500'000 ? 1 : 0.87;
  }
  EXPECT_EQ(factor, 1);
  EXPECT_GT(rate.next().aim.bps, 250'000);
}

TEST(UnitRateTest, ASearchThatFindsNoPassForTheVbvGoesOnFromItsFactor) {
  EncoderSpec spec;
  spec.fps = {7, 1};
  spec.maxrate = spec.bufsize = 400'000;
  UnitSpec unit;
  unit.end_frame = 14;
  unit.budget_bps = 400'000;  // 100,000 bytes
  UnitRate rate(spec, unit, true, std::nullopt);
  double crf = 30;
  int passes = 1;
  UnitRate::Verdict verdict = rate.Judge({.bytes = 150'000, .vbv_factor = 0.9, .crf = crf});
  for (; !verdict.done && passes < 20; ++passes) {
    ASSERT_TRUE(rate.next().crf.has_value());
    crf = *rate.next().crf;
    const bool fits = crf > 46;
    verdict = rate.Judge({.bytes = 110'000, .vbv_factor = fits ? 1 : 0.97});
  }
  EXPECT_GT(crf, 46);
  EXPECT_TRUE(verdict.keep) << "the only one that fits";
}

// The pass that is kept of these, of which the last is the last that is needed.
std::size_t KeptOf(UnitRate rate, std::span<const UnitRate::Made> passes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const UnitRate::Verdict verdict = rate.Judge(passes[i]);
    if (verdict.keep) kept = i;
    EXPECT_EQ(verdict.done, i + 1 == passes.size()) << i;
  }
  return kept;
}

// Of an encoder with a rate control of its own.
TEST(UnitRateTest, APassThatSatisfiesTheVbvGoesBeforeLaterOnesThatDoNot) {
  EncoderSpec spec = Capped(0);
  spec.rate_mode = RateMode::kBitrate;
  spec.codec = VideoCodec::kVp9;
  UnitSpec unit = TwoSeconds();
  unit.budget_bps = 1'000'000;  // 250,000 bytes
  const UnitRate rate(spec, unit, true, std::nullopt);
  using Passes = std::vector<UnitRate::Made>;
  const UnitRate::Made small{.bytes = 200'000}, large{.bytes = 280'000, .vbv_factor = 0.9};
  EXPECT_EQ(KeptOf(rate, Passes{small,
                                large,
                                {.bytes = 262'000, .vbv_factor = 0.93},
                                {.bytes = 252'000, .vbv_factor = 0.97}}),
            0U);
  EXPECT_EQ(KeptOf(rate, Passes{small, large, {.bytes = 190'000}}), 0U) << "nearer to the rate";
  EXPECT_EQ(KeptOf(rate, Passes{small, {.bytes = 240'000}}), 1U);
}

// A unit of a movie at a few frames a second.
TEST(UnitRateTest, TheRateOfAUnitTooShortToBeSteeredIsSearchedFor) {
  EncoderSpec spec;
  spec.fps = {1, 1};
  UnitSpec unit;
  unit.end_frame = 4;
  unit.budget_bps = 80'000;  // 40,000 bytes in four seconds
  UnitRate rate(spec, unit, true, std::nullopt);
  EXPECT_TRUE(rate.must_be_judged());
  EXPECT_FALSE(rate.on_trial());
  EXPECT_FALSE(rate.Judge({.bytes = 80'000, .crf = 24}).done);
  EXPECT_NEAR(rate.next().crf.value(), 24 + kCrfPerOctave, 1.0 / 32);
  EXPECT_TRUE(rate.Judge({.bytes = 39'000}).done);
  UnitRate transparent(spec, unit, true, std::nullopt);
  EXPECT_TRUE(transparent.Judge({.bytes = 20'000, .crf = 12}).done) << "no more can be seen";
  UnitRate beyond(spec, unit, true, std::nullopt);
  EXPECT_TRUE(beyond.Judge({.bytes = 20'000, .crf = 1.3}).done)
      << "a search would find the next that is allowed, which takes less";
  UnitRate once(spec, unit, false, std::nullopt);
  EXPECT_TRUE(once.Judge({.bytes = 80'000, .crf = 24}).done) << "it cannot be decoded again";
}

// GOPs of half a second: a search each would take most of the time, and the mean is made up for.
TEST(UnitRateTest, HalfASecondIsSearchedForOnlyIfItMissesByAsMuch) {
  EncoderSpec spec;
  spec.fps = {30, 1};
  UnitSpec unit;
  unit.index = UnitIndex{1};
  unit.end_frame = 15;
  unit.budget_bps = 80'000;  // 5,000 bytes in half a second
  UnitRate near(spec, unit, true, std::nullopt);
  EXPECT_TRUE(near.must_be_judged());
  EXPECT_TRUE(near.Judge({.bytes = 9'900, .crf = 30}).done);
  EXPECT_FALSE(near.aimed_otherwise());
  UnitRate far(spec, unit, true, std::nullopt);
  EXPECT_FALSE(far.Judge({.bytes = 10'100, .crf = 30}).done);
  EXPECT_TRUE(far.aimed_otherwise());
  EXPECT_TRUE(far.Judge({.bytes = 6'400, .crf = 30}).done) << "by a third";
  unit.index = UnitIndex{0};
  UnitRate first(spec, unit, true, std::nullopt);
  EXPECT_FALSE(first.Judge({.bytes = 6'600, .crf = 30}).done) << "there is only one";
}

TEST(UnitRateTest, AUnitThatWasMisjudgedBeginsAgainOnceWithWhatItsFirstFramesTaught) {
  EncoderSpec spec;
  spec.fps = {25, 1};
  UnitSpec unit = TwoSeconds();
  unit.budget_bps = 800'000;
  UnitRate rate(spec, unit, true, std::nullopt);
  EXPECT_FALSE(rate.must_be_judged());
  ASSERT_TRUE(rate.on_trial());
  rate.LearnFrom({.key = 2, .inter = 0.1});
  EXPECT_FALSE(rate.on_trial());
  EXPECT_EQ(rate.next().aim.key_scale, 2);
  EXPECT_EQ(rate.next().aim.inter_scale, 0.1);
  EXPECT_EQ(rate.next().aim.bps, 800'000);
  EXPECT_FALSE(rate.aimed_otherwise());
}

}  // namespace
}  // namespace gopmill
