// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pace_follower.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000, kFrame = kNanosPerSecond / 25;

// How long pictures have waited for their time in the end, beyond what the first ones did, if the
// publisher's second lasts `second` ns here and each picture is up to 30 ms late.
std::int64_t WaitAfter(std::int64_t seconds, std::int64_t second) {
  PaceFollower follower;
  std::int64_t wait = 0, last = 0;
  for (std::int64_t n = 0; n < 25 * seconds; ++n) {
    const std::int64_t late = (n * 7919) % 31 * 1'000'000;
    const std::int64_t now = 5 * kNanosPerSecond + n * second / 25 + late;
    const std::int64_t shown = n * kFrame - follower.Follow(n * kFrame, now);
    EXPECT_GT(shown - last, n == 0 ? -1 : 0) << "times go on";
    last = shown;
    wait = shown + 5 * kNanosPerSecond + late - now;
  }
  return wait;
}

TEST(PaceFollower, PicturesOfAFastClockDoNotPileUp) {
  const std::int64_t fast = kNanosPerSecond - 1'000'000;  // 1,000 ppm
  EXPECT_LT(WaitAfter(3600, fast), 150'000'000) << "3.6 s without";
  EXPECT_LT(WaitAfter(3600, kNanosPerSecond - 10'000'000), 450'000'000) << "36 s without";
}

TEST(PaceFollower, ATrueOrASlowClockIsLeftAlone) {
  EXPECT_EQ(WaitAfter(600, kNanosPerSecond), 0);
  EXPECT_EQ(WaitAfter(600, kNanosPerSecond + 100'000), -60'000'000 + 4'000);
}

TEST(PaceFollower, WhatTheNetworkHeldBackIsNoDrift) {
  PaceFollower follower;
  for (std::int64_t n = 0; n < 25 * 60; ++n) {
    const bool held = n % (25 * 7) < 50;  // two seconds of seven come at once
    const std::int64_t sent = held ? n - n % (25 * 7) + 50 : n;
    EXPECT_EQ(follower.Follow(n * kFrame, sent * kFrame), 0) << n;
  }
}

}  // namespace
}  // namespace gopmill
