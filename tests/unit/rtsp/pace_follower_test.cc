// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pace_follower.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000, kNanosPerSecond = 1'000 * kMillisecond,
                       kFrame = kNanosPerSecond / 25;

// How long before its time the least late of the last pictures comes in the end, if the first one
// was `early` and the publisher's second lasts `second` ns here; each picture is up to 30 ms late.
std::int64_t WaitAfter(std::int64_t seconds, std::int64_t second, std::int64_t early) {
  PaceFollower follower;
  std::int64_t wait = 0, last = 0;
  for (std::int64_t n = 0; n < 25 * seconds; ++n) {
    const std::int64_t late = (n * 7919) % 31 * kMillisecond;
    const std::int64_t now = n * second / 25 + late - early;
    const std::int64_t sent = n * kFrame - follower.Follow(n * kFrame, now);
    EXPECT_GT(sent - last, n == 0 ? -1 : 0) << "times go on";
    last = sent;
    wait = sent + late - now;
  }
  return wait;
}

TEST(PaceFollower, PicturesOfAFastClockDoNotPileUp) {
  const std::int64_t fast = kNanosPerSecond - kMillisecond;  // 1,000 ppm
  EXPECT_LT(WaitAfter(3600, fast, 0), 150 * kMillisecond) << "3.6 s without";
  EXPECT_LT(WaitAfter(3600, kNanosPerSecond - 10 * kMillisecond, 0), 450 * kMillisecond)
      << "36 s without";
}

TEST(PaceFollower, WhatAPipelineWasLateAtItsStartIsMadeUp) {
  EXPECT_EQ(WaitAfter(60, kNanosPerSecond, 500 * kMillisecond),
            PaceFollower::kKept + 30 * kMillisecond);
  EXPECT_GT(WaitAfter(11, kNanosPerSecond, 500 * kMillisecond), 475 * kMillisecond)
      << "by 2 % of a second so far";
}

TEST(PaceFollower, ATrueOrASlowClockIsLeftAlone) {
  EXPECT_EQ(WaitAfter(600, kNanosPerSecond, 80 * kMillisecond), 80 * kMillisecond);
  EXPECT_EQ(WaitAfter(600, kNanosPerSecond, -80 * kMillisecond), -80 * kMillisecond);
  EXPECT_EQ(WaitAfter(600, kNanosPerSecond + 100'000, 0), -60 * kMillisecond + 4'000);
}

// What is taken off in the end where one second of so many comes at once, with its last picture.
std::int64_t TakenOff(std::int64_t period) {
  PaceFollower follower;
  std::int64_t shift = 0;
  for (std::int64_t n = 0; n < 25 * 120; ++n) {
    const bool held = n % (25 * period) < 25;
    const std::int64_t sent = held ? n - n % (25 * period) + 25 : n;
    shift = follower.Follow(n * kFrame, sent * kFrame - kNanosPerSecond);
  }
  return shift;
}

TEST(PaceFollower, WhatIsHeldBackOftenNeedsTheTime) {
  EXPECT_EQ(TakenOff(3), 0);
  EXPECT_EQ(TakenOff(12), kNanosPerSecond - PaceFollower::kKept) << "that is late now and then";
}

}  // namespace
}  // namespace gopmill
