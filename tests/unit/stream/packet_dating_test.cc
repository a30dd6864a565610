// SPDX-License-Identifier: Apache-2.0
#include "server/stream/packet_dating.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kNanosPerMs = 1'000'000;

// Pictures come as they are due, `late` after that; what the wall says is set now and then.
class PacketDatingTest : public testing::Test {
 protected:
  WallTime Picture(milliseconds at, milliseconds late = {}) {
    const milliseconds now = at + late;
    const WallTime wall = WallTime(ahead) + now;
    dating.SeeClocks(wall, TimePoint(seconds(1000)) + now);
    return dating.Date(true, at.count() * kNanosPerMs, wall);
  }
  // In as many steps of 40 ms as fit.
  WallTime PlayTo(milliseconds end) {
    WallTime date;
    for (; next < end; next += milliseconds(40)) date = Picture(next);
    return date;
  }

  PacketDating dating;
  milliseconds ahead = std::chrono::hours(1);  // the wall, of zero
  milliseconds next{0};
};

TEST_F(PacketDatingTest, GoesByThePromptestPicture) {
  EXPECT_EQ(Picture(milliseconds(0), milliseconds(50)), WallTime(ahead) + milliseconds(50));
  EXPECT_EQ(Picture(milliseconds(40)), WallTime(ahead) + milliseconds(40));
  const WallTime held_up = Picture(milliseconds(80), milliseconds(700));
  EXPECT_LT(held_up - (WallTime(ahead) + milliseconds(80)), milliseconds(1)) << "by the network";
  const WallTime sound = dating.Date(false, 100 * kNanosPerMs, WallTime());
  EXPECT_EQ(sound - held_up, milliseconds(20));
}

TEST_F(PacketDatingTest, FollowsAWallClockThatIsSet) {
  PlayTo(seconds(60));
  for (const milliseconds by : {milliseconds(std::chrono::hours(24 * 365)), milliseconds(1500),
                                milliseconds(-1500), milliseconds(-std::chrono::hours(2))}) {
    ahead += by;
    EXPECT_EQ(Picture(next), WallTime(ahead) + next) << by.count();
    EXPECT_EQ(dating.drift(), milliseconds(0)) << "that is not the publisher's";
    PlayTo(next + seconds(20));
  }
}

TEST_F(PacketDatingTest, SmallSettingsDoNotAddUpToALargeOne) {
  PlayTo(seconds(60));
  for (int i = 0; i < 3; ++i) {
    ahead -= milliseconds(600);
    EXPECT_EQ(Picture(next), WallTime(ahead) + next) << "setting " << i;
    PlayTo(next + seconds(20));
  }
}

TEST_F(PacketDatingTest, AClockThatIsSetWhileNothingHasComeYetIsNoMatter) {
  dating.SeeClocks(WallTime(), TimePoint(seconds(1000)));
  EXPECT_EQ(Picture(milliseconds(0)), WallTime(ahead));
}

TEST_F(PacketDatingTest, WhatAThreadWaitsBetweenTheClocksIsNoStep) {
  PlayTo(seconds(10));
  dating.SeeClocks(WallTime(ahead) + next, TimePoint(seconds(1000)) + next + milliseconds(900));
  EXPECT_EQ(Picture(next), WallTime(ahead) + next);
}

}  // namespace
}  // namespace gopmill
