// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_control.h"

#include <gtest/gtest.h>

#include <cmath>

extern "C" {
#include <libavutil/pixfmt.h>
}

#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

// Live sources of one picture a second: how long a GOP is going to be is a guess.
TEST(RateControl, SteersAUnitOfMoreFramesThanTheOneItWasToHave) {
  const testing::Scene scene;
  RateControl control({.width = scene.width,
                       .height = scene.height,
                       .fps = {1, 1},
                       .aim = {.bps = 40'000, .usual_crf = 25},
                       .frames = 1});
  for (int n = 0; n < 6; ++n) {
    control.Observe(*testing::MakeFrame(scene, n));
    control.Coded(5'000, n);
    EXPECT_TRUE(std::isfinite(control.crf())) << "frame " << n;
    EXPECT_GE(control.crf(), 1);
    EXPECT_LE(control.crf(), 51);
    EXPECT_TRUE(std::isfinite(control.lesson().share));
  }
}

// What the key frame of two seconds is coded at: twenty pictures a second of a box that moves, each
// shown `times` times.
double FirstCrf(int times) {
  RateControl control({.width = 128,
                       .height = 96,
                       .fps = {20 * times, 1},
                       .aim = {.bps = 60'000},
                       .frames = 40 * times});
  for (int n = 0; n < 12; ++n) {
    const av::Frame frame = testing::MakePlainFrame(128, 96, AV_PIX_FMT_YUV420P, 40, 128, 128);
    testing::PaintLuma(*frame, 8 * n, 16, 24, 64, 200);
    for (int shown = 0; shown < times; ++shown) control.Observe(*frame);
  }
  return control.crf();
}

// 15 to 30 pictures a second shown at 60.
TEST(RateControl, TakesPicturesBetweenRepeatsForMovementNotForCuts) {
  const double once = FirstCrf(1);
  ASSERT_GT(once, 15) << "not a test of anything at the bound";
  for (const int times : {2, 3, 4}) {
    EXPECT_NEAR(FirstCrf(times), once, 2) << "each shown " << times << " times";
  }
}

TEST(RateControl, WhatAUnitLeavesOverGoesByItsLength) {
  EXPECT_EQ(UnspentX264(15), 0) << "a short one is too late to save more";
  EXPECT_GT(UnspentX264(60), UnspentX264(30));
  EXPECT_EQ(UnspentX264(500), UnspentX264(120)) << "longer ones were not fitted";
  EXPECT_NEAR(UnspentLowDelay(30), -1.7, 0.1);
  for (const double frames : {1, 2, 5, 10}) {
    EXPECT_GT(UnspentLowDelay(frames) / frames, -0.21) << "a part of those that there are";
  }
}

}  // namespace
}  // namespace gopmill
