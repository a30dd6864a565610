// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_control.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace gopmill
