// SPDX-License-Identifier: Apache-2.0
#include "media/long_steps.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "media/timestamp_repair.h"

namespace gopmill {
namespace {

constexpr std::int64_t kStepSecond = 1000;
constexpr int kPicture = 0, kSound = 1, kText = 2, kOtherSound = 3;

struct StepPacket {
  int stream;
  std::int64_t time;
  int flags = 0;
};

const std::vector<LongSteps::Track> kStepTracks{
    {.time_base = {1, 1000}, .counts = true, .pictures = true},
    {.time_base = {1, 1000}, .counts = true},
    {.time_base = {1, 1000}},
    {.time_base = {1, 1000}, .counts = true}};

// What a repair makes of the times of the pictures, with what was found of these packets; all of
// them come out in their order.
std::vector<std::int64_t> RepairedSteps(const std::vector<StepPacket>& file, int track = kPicture) {
  LongSteps steps(kStepTracks);
  TimestampRepair repair(0, {{.time_base = {1, 1000}}, {.time_base = {1, 1000}}});
  std::size_t next = 0;
  const auto read = [&](AVPacket& packet) -> Result<int> {
    if (next == file.size()) return AVERROR_EOF;
    const StepPacket& coded = file[next++];
    packet.stream_index = coded.stream;
    packet.pts = packet.dts = coded.time;
    packet.duration = 40;
    packet.flags = coded.flags;
    return 0;
  };
  std::vector<std::int64_t> times;
  for (std::size_t i = 0;; ++i) {
    const av::Packet packet = av::NewPacket();
    const auto code = steps.Next(read, *packet);
    EXPECT_TRUE(code.ok());
    if (!code.ok() || *code < 0) {
      EXPECT_EQ(i, file.size());
      return times;
    }
    EXPECT_EQ(packet->pts, file[i].time) << i;
    if (packet->stream_index == kText || packet->stream_index == kOtherSound) continue;
    repair.Fix(static_cast<std::size_t>(packet->stream_index), *packet);
    if (packet->stream_index == track) times.push_back(packet->pts);
  }
}

TEST(LongSteps, APictureThatStandsForLongIsMeant) {
  EXPECT_EQ(
      RepairedSteps({{kPicture, 0}, {kPicture, 25'000}, {kPicture, 50'000}, {kPicture, 50'040}}),
      (std::vector<std::int64_t>{0, 25'000, 50'000, 50'040}));
  EXPECT_EQ(RepairedSteps({{kPicture, 0}, {kPicture, 900 * kStepSecond}}).back(), 900 * kStepSecond)
      << "also at the end";
}

TEST(LongSteps, ForLongerThanAPauseMayBeWithSoundToo) {
  std::vector<StepPacket> file{{kPicture, 0}};
  for (int n = 0; n < 700; ++n) file.push_back({kSound, n * kStepSecond});
  file.push_back({kPicture, 700 * kStepSecond});
  file.push_back({kSound, 700 * kStepSecond});
  EXPECT_EQ(RepairedSteps(file).back(), 700 * kStepSecond);
}

TEST(LongSteps, OneWildTimeIsNotMeant) {
  const std::vector<std::int64_t> all{0, 40, 80, 120, 160};
  const auto near = [&](const std::vector<std::int64_t>& times) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::abs(times.at(i) - all[i]) > 40) return false;
    }
    return true;
  };
  EXPECT_TRUE(near(RepairedSteps(
      {{kPicture, 0}, {kPicture, 40}, {kPicture, 900'000}, {kPicture, 120}, {kPicture, 160}})));
  EXPECT_TRUE(near(RepairedSteps({{kPicture, 0},
                                  {kSound, 0},
                                  {kPicture, 40},
                                  {kPicture, 80},
                                  {kSound, 80},
                                  {kPicture, 120},
                                  {kPicture, 900'000},
                                  {kSound, 160}})))
      << "the last one, though sound goes on from where it was";
}

TEST(LongSteps, TracksThatPauseTogetherStayTogether) {
  std::vector<StepPacket> file{{kPicture, 0}, {kSound, 0}, {kSound, 3000}, {kSound, 40'000}};
  file.push_back({kPicture, 40'500});
  file.push_back({kSound, 41'000});
  EXPECT_EQ(RepairedSteps(file).back(), 40'500);
}

// A camera whose sound has a clock of its own, which was set.
TEST(LongSteps, SoundAloneIsMovedBackToItsPictures) {
  std::vector<StepPacket> file;
  for (std::int64_t at = 0; at < 10'000; at += 40) {
    file.push_back({kPicture, at});
    file.push_back({kSound, at < 4000 ? at : at + 300'000});
  }
  const auto sound = RepairedSteps(file, kSound);
  EXPECT_EQ(sound.back(), 9960);
  std::vector<StepPacket> both;
  for (const StepPacket& each : file) {
    both.push_back(each);
    if (each.stream == kSound) both.push_back({kOtherSound, each.time});
  }
  EXPECT_EQ(RepairedSteps(both, kSound).back(), 9960) << "both sounds have that clock";
  EXPECT_EQ(RepairedSteps(file).back(), 9960);
}

TEST(LongSteps, LongerThanAnyPictureIsShownIsAJump) {
  const std::int64_t far = 4000 * kStepSecond;
  EXPECT_EQ(RepairedSteps({{kPicture, 0}, {kPicture, far}, {kPicture, far + 40}}),
            (std::vector<std::int64_t>{0, 40, 80}));
}

TEST(LongSteps, WhatIsHiddenOrTextTellsNothing) {
  EXPECT_EQ(RepairedSteps({{kPicture, 0},
                           {kPicture, 90'000, AV_PKT_FLAG_DISCARD},
                           {kText, 30'000},
                           {kPicture, 30'000},
                           {kText, 0},
                           {kPicture, 40}}),
            (std::vector<std::int64_t>{0, 90'000, 40, 80}));
}

// Sound without end that is nowhere near: so much is read and no more.
TEST(LongSteps, ReadsOnlySoFar) {
  LongSteps steps(kStepTracks);
  std::size_t reads = 0;
  const auto read = [&](AVPacket& packet) -> Result<int> {
    const bool picture = reads == 0 || reads == 1;
    packet.stream_index = picture ? kPicture : kSound;
    packet.pts = packet.dts = reads == 1 ? 900 * kStepSecond : 0;
    ++reads;
    return 0;
  };
  const av::Packet packet = av::NewPacket();
  ASSERT_TRUE(steps.Next(read, *packet).ok());
  ASSERT_TRUE(steps.Next(read, *packet).ok());
  EXPECT_EQ(packet->opaque, nullptr);
  EXPECT_EQ(reads, kMaxStepPackets + 2);
}

}  // namespace
}  // namespace gopmill
