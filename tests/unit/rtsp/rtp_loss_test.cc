// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_loss.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(RtpLoss, CountsTheNumbersThatAreMissing) {
  RtpLoss loss;
  EXPECT_EQ(loss.OnPacket(7), 0) << "the first one may have any number";
  EXPECT_EQ(loss.OnPacket(8), 0);
  EXPECT_EQ(loss.OnPacket(12), 3);
  EXPECT_EQ(loss.OnPacket(13), 0);
}

TEST(RtpLoss, CountsOverTheEndOfTheNumbers) {
  RtpLoss loss;
  loss.OnPacket(65'534);
  EXPECT_EQ(loss.OnPacket(65'535), 0);
  EXPECT_EQ(loss.OnPacket(2), 2);
}

TEST(RtpLoss, TakesAWideJumpForANewBeginning) {
  RtpLoss loss;
  loss.OnPacket(0);
  EXPECT_EQ(loss.OnPacket(RtpLoss::kLargestLoss + 1), 0);
  EXPECT_EQ(loss.OnPacket(100), 0) << "back";
  EXPECT_EQ(loss.OnPacket(102), 1);
}

TEST(RtpDrops, CountsWhatRtpLossTakesForANewBeginning) {
  RtpDrops drops;
  EXPECT_EQ(drops.OnPacket(65'000, true), 0) << "the first one may have any number";
  EXPECT_EQ(drops.OnPacket(65'100, true), 0) << "RtpLoss has those";
  EXPECT_EQ(drops.OnPacket(4'565, true), 5'000);
  EXPECT_EQ(drops.OnPacket(14'566, false), 0) << "the sender jumps";
  EXPECT_EQ(drops.OnPacket(14'000, true), 0) << "back";
}

}  // namespace
}  // namespace gopmill
