// SPDX-License-Identifier: Apache-2.0
#include "server/stream/lateness.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(Lateness, IsTooOftenInARow) {
  Lateness lateness;
  for (int i = 0; i < kMostLate; ++i) {
    EXPECT_FALSE(lateness.too_often());
    lateness.OnLate();
    lateness.OnGop();
  }
  EXPECT_TRUE(lateness.too_often());
}

TEST(Lateness, IsForgivenToWhoIsInTimeForLong) {
  Lateness lateness;
  for (int gop = 0; gop < 1000; ++gop) {
    if (gop % 300 == 0) lateness.OnLate();
    lateness.OnGop();
    EXPECT_FALSE(lateness.too_often()) << gop;
  }
}

TEST(Lateness, IsNotForgivenBetweenTwoThatFollowEachOtherSooner) {
  Lateness lateness;
  for (int i = 0; i < kMostLate; ++i) {
    for (int gop = 1; gop < kForgiveGops; ++gop) lateness.OnGop();
    lateness.OnLate();
  }
  EXPECT_TRUE(lateness.too_often());
}

}  // namespace
}  // namespace gopmill
