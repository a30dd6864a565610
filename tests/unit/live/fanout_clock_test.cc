// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_clock.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/live/fanout_media.h"

namespace gopmill {
namespace {

using testing::PicturesAndSound;

// Where packets come to lie: pictures in 25ths of a second, sound in samples.
class FanoutClockTest : public ::testing::Test {
 protected:
  std::int64_t Picture(std::int64_t pts, bool after_gap = false, std::int64_t delay = 2) {
    const av::Packet packet = Timed(pts, 1);
    packet->dts = pts - delay;
    EXPECT_TRUE(clock_.Place(0, after_gap, *packet));
    EXPECT_EQ(packet->pts - packet->dts, delay);
    return packet->pts;
  }
  // Nothing = it is left out.
  std::optional<std::int64_t> Sound(std::int64_t pts) {
    const av::Packet packet = Timed(pts, 1024);
    if (!clock_.Place(1, false, *packet)) return std::nullopt;
    return packet->pts;
  }

 private:
  static av::Packet Timed(std::int64_t pts, std::int64_t duration) {
    av::Packet packet = av::NewPacket();
    packet->pts = packet->dts = pts;
    packet->duration = duration;
    return packet;
  }
  FanoutClock clock_{PicturesAndSound()};
};

TEST_F(FanoutClockTest, IsThatOfTheEncodeForWhoIsThereFromTheBeginning) {
  EXPECT_EQ(Picture(0), 0);
  EXPECT_EQ(Sound(-1024), -1024) << "priming";
  EXPECT_EQ(Sound(0), 0);
  EXPECT_EQ(Picture(2), 2);
}

TEST_F(FanoutClockTest, BeginsWithNoughtForWhoComesLate) {
  EXPECT_EQ(Picture(250, true), 0);
  EXPECT_EQ(Sound(479'900), std::nullopt) << "from before the first picture";
  EXPECT_EQ(Sound(480'924), 924);
  EXPECT_EQ(Picture(251), 1);
}

TEST_F(FanoutClockTest, ClosesUpOverWhatWasLost) {
  EXPECT_EQ(Picture(0), 0);
  EXPECT_EQ(Picture(1), 1);
  EXPECT_EQ(Sound(0), 0);
  EXPECT_EQ(Sound(1024), 1024);
  // A second is missing; the second picture would be the third.
  EXPECT_EQ(Picture(27, true), 2);
  EXPECT_EQ(Sound(27 * 1920 - 500), std::nullopt) << "from before the gap";
  EXPECT_EQ(Sound(27 * 1920 + 100), 2 * 1920 + 100);
  EXPECT_EQ(Picture(28), 3);
}

// Sound that reached further than the pictures before the gap must not go back.
TEST_F(FanoutClockTest, SoundNeverGoesBack) {
  EXPECT_EQ(Picture(0), 0);
  for (std::int64_t pts = 0; pts < 5; ++pts) EXPECT_EQ(Sound(pts * 1024), pts * 1024);
  EXPECT_EQ(Picture(25, true), 1);
  EXPECT_EQ(Sound(25 * 1920), std::nullopt) << "it would lie at 1920, and 5120 samples are there";
  EXPECT_EQ(Sound(25 * 1920 + 3200), 5120);
}

}  // namespace
}  // namespace gopmill
