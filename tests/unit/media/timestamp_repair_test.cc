// SPDX-License-Identifier: Apache-2.0
#include "media/timestamp_repair.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace gopmill {
namespace {

constexpr Rational kMpegClock{1, 90'000};
constexpr Rational k48kHz{1, 48'000};
constexpr std::int64_t kNone = INT64_MIN;  // AV_NOPTS_VALUE

std::pair<std::int64_t, std::int64_t> Fix(TimestampRepair& repair, std::size_t track,
                                          std::int64_t pts, std::int64_t dts,
                                          std::int64_t duration = 3600) {
  av::Packet packet = av::NewPacket();
  packet->pts = pts;
  packet->dts = dts;
  packet->duration = duration;
  repair.Fix(track, *packet);
  return {packet->pts, packet->dts};
}

TEST(TimestampRepair, StartsAtZero) {
  TimestampRepair repair(1'400'000, {{.time_base = kMpegClock}});
  EXPECT_EQ(Fix(repair, 0, 126'000, 126'000).first, 0);
  EXPECT_EQ(Fix(repair, 0, 129'600, 129'600).first, 3600);
  EXPECT_EQ(repair.repaired(), 0);
}

TEST(TimestampRepair, ClosesAJumpInAllTracksAtOnce) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  Fix(repair, 0, 0, 0);
  Fix(repair, 1, 0, 0, 1024);
  EXPECT_EQ(Fix(repair, 0, 9'000'000, 9'000'000).first, 3600) << "100 s taken out";
  EXPECT_EQ(Fix(repair, 1, 1024 + 4'800'000 - 1920, 1024 + 4'800'000 - 1920, 1024).first,
            1024 - 1920 + 1920)
      << "sound moves by the same time";
  EXPECT_EQ(repair.repaired(), 1);
}

TEST(TimestampRepair, WhatIsHiddenOnlyMovesWithTheOthers) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  const auto hidden = [&](std::int64_t time) {
    av::Packet packet = av::NewPacket();
    packet->pts = packet->dts = time;
    packet->flags = AV_PKT_FLAG_DISCARD;
    repair.Fix(0, *packet);
    return packet->pts;
  };
  Fix(repair, 0, 900'000, 900'000);
  Fix(repair, 0, 0, 0);  // 10 s back
  EXPECT_EQ(hidden(1'000'000), 1'903'600);
  EXPECT_EQ(hidden(-500'000), 403'600);
  EXPECT_EQ(Fix(repair, 0, 3600, 3600).first, 907'200);
  EXPECT_EQ(repair.jumps(), 1);
}

TEST(TimestampRepair, ClosesAJumpBackwards) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  Fix(repair, 0, 900'000, 900'000);
  EXPECT_EQ(Fix(repair, 0, 0, 0).first, 903'600);
}

// Closed in all by turns, it would move the pictures to and fro for ever.
TEST(TimestampRepair, AJumpOfOneSoundMovesThatAlone) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  constexpr std::int64_t kLeap = 100 * 48'000;
  for (std::int64_t n = 0; n < 50; ++n) {
    EXPECT_EQ(Fix(repair, 0, 3600 * n, 3600 * n).first, 3600 * n);
    const std::int64_t sound = 1920 * n + (n >= 10 && n < 30 ? kLeap : 0);
    EXPECT_EQ(Fix(repair, 1, sound, sound, 1920).first, 1920 * n) << n;
  }
  EXPECT_EQ(repair.jumps(), 0);
  EXPECT_EQ(repair.repaired(), 1) << "the way back is no repair";
}

TEST(TimestampRepair, AJumpThatReachesTheSoundFirstLeavesItWithThePictures) {
  for (const std::int64_t seconds : {100, -5, -1000}) {
    TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
    for (std::int64_t n = 0; n < 50; ++n) {
      const std::int64_t sound = 1920 * n + 48'000 * (n >= 20 ? seconds : 0);
      EXPECT_EQ(Fix(repair, 1, sound, sound, 1920).first, 1920 * n) << n;
      const std::int64_t picture = 3600 * n + 90'000 * (n >= 25 ? seconds : 0);
      EXPECT_EQ(Fix(repair, 0, picture, picture).first, 3600 * n) << n;
    }
    EXPECT_EQ(repair.jumps(), 1) << seconds;
  }
}

// Else one broken composition offset makes hours of doubled frames.
// Recordings of 3 s one behind the other, in each of which sound comes later than the pictures.
TEST(TimestampRepair, SoundFromBeforeAJumpThatComesBehindItStaysWhereItIs) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  constexpr std::int64_t kPictures = 75, kSounds = 90, kRecordings = 3;
  std::int64_t sound = 0;
  const auto hear = [&](std::int64_t until) {
    for (; sound < until; ++sound) {
      const std::int64_t raw = sound % kSounds * 1600;
      EXPECT_EQ(Fix(repair, 1, raw, raw, 1600).first, sound * 1600) << sound;
    }
  };
  for (std::int64_t n = 0; n < kRecordings * kPictures; ++n) {
    const std::int64_t raw = n % kPictures * 3600;
    EXPECT_EQ(Fix(repair, 0, raw, raw).first, n * 3600) << n;
    hear((n - 4) * kSounds / kPictures);
  }
  hear(kRecordings * kSounds);
  EXPECT_EQ(repair.jumps(), kRecordings - 1);
}

// What is sent again goes back by nearly the same in all tracks, and kMaxBackSeconds may lie
// between.
TEST(TimestampRepair, SoundStaysWithPicturesWhereAPieceComesAgain) {
  constexpr std::int64_t kBefore = 60, kAll = 150, kMoreSound = 2;
  const auto read = [](std::int64_t again) {
    std::vector<std::int64_t> order(kBefore);
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t n = kBefore - again; n < kAll; ++n) order.push_back(n);
    return order;
  };
  for (const std::int64_t again : {20, 23, 24, 25, 26, 27, 30, 50}) {
    for (const std::int64_t lead : {-4, 0, 4}) {
      SCOPED_TRACE(std::to_string(again) + " pictures, sound " + std::to_string(lead) + " before");
      TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
      const auto pictures = read(again), sounds = read(again + kMoreSound);
      std::int64_t shown = 0, heard = 0;
      for (std::size_t n = 4; n + 4 < pictures.size(); ++n) {
        const std::int64_t picture = pictures[n] * 3600;
        shown = (Fix(repair, 0, picture, picture).first - picture) / 3600;
        const std::int64_t sound = sounds[n + static_cast<std::size_t>(lead)] * 1920;
        heard = (Fix(repair, 1, sound, sound, 1920).first - sound) / 1920;
      }
      EXPECT_EQ(heard, shown);
      EXPECT_EQ(repair.jumps(), again > 26 ? 1 : 0);
    }
  }
}

TEST(TimestampRepair, AGapOfTheSoundIsNoLateSound) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  Fix(repair, 0, 270'000, 270'000);
  Fix(repair, 1, 144'000, 144'000, 1600);
  Fix(repair, 0, 0, 0);  // 3 s back
  EXPECT_EQ(Fix(repair, 1, 0, 0, 1600).first, 144'000 + 1920) << "with the pictures";
  const std::int64_t later = 1600 + std::int64_t{3} * 48'000;
  EXPECT_EQ(Fix(repair, 1, later, later, 1600).first, later + 144'000 + 1920) << "3 s of silence";
}

TEST(TimestampRepair, TakesAPresentationTimeFarOffItsDecodingTimeForMissing) {
  TimestampRepair reordering(0,
                             {{.time_base = kMpegClock, .reorders = true, .frame_seconds = 0.04}});
  Fix(reordering, 0, 3600, 0);
  EXPECT_EQ(Fix(reordering, 0, 90'000'000, 3600).first, kNone);
  EXPECT_EQ(Fix(reordering, 0, 10'800, 7200).first, 10'800);
  EXPECT_EQ(reordering.repaired(), 1);
  TimestampRepair plain(0, {{.time_base = kMpegClock, .frame_seconds = 0.04}});
  EXPECT_EQ(Fix(plain, 0, -90'000'000, 0).first, 0);
  TimestampRepair slow(0, {{.time_base = kMpegClock, .reorders = true, .frame_seconds = 1}});
  EXPECT_EQ(Fix(slow, 0, 16 * 90'000, 0).first, 16 * 90'000) << "sixteen frames of a second";
}

// Of slides with B pictures the first P picture is shown after two more, and has no decoding time
// in Matroska.
TEST(TimestampRepair, APictureThatIsShownLateIsNoJump) {
  constexpr std::int64_t kSecond = 90'000;
  TimestampRepair repair(0, {{.time_base = kMpegClock, .reorders = true, .frame_seconds = 1.0 / 60},
                             {.time_base = k48kHz}});
  Fix(repair, 0, 0, kNone);
  EXPECT_EQ(Fix(repair, 0, 45 * kSecond, kNone).first, 45 * kSecond);
  EXPECT_EQ(Fix(repair, 0, 15 * kSecond, 0).first, 15 * kSecond);
  EXPECT_EQ(Fix(repair, 1, 48'000, 48'000).first, 48'000) << "the sound stays";
  EXPECT_EQ(repair.jumps(), 0);
}

// The same in MP4, whose decoding times begin before zero.
TEST(TimestampRepair, AStepToATimeThatHasBeenShownIsNoJump) {
  constexpr std::int64_t kSecond = 90'000;
  TimestampRepair repair(0,
                         {{.time_base = kMpegClock, .reorders = true, .frame_seconds = 1.0 / 60}});
  const std::array<std::pair<int, int>, 6> times{
      {{0, -30}, {45, -15}, {15, 0}, {30, 15}, {46, 30}, {47, 45}}};
  for (const auto& [pts, dts] : times) {
    EXPECT_EQ(Fix(repair, 0, pts * kSecond, dts * kSecond).first, pts * kSecond) << pts;
  }
  EXPECT_EQ(repair.repaired(), 0);
  Fix(repair, 0, 200 * kSecond, 199 * kSecond);
  EXPECT_EQ(repair.jumps(), 1) << "but this is one";
}

// Closed in both by turns, it would set them apart for ever.
TEST(TimestampRepair, APauseOfOneTrackIsNoJump) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  Fix(repair, 0, 0, 0);
  Fix(repair, 1, 0, 0, 1024);
  for (std::int64_t n = 1; n < 500; ++n) Fix(repair, 0, 3600 * n, 3600 * n);
  EXPECT_EQ(Fix(repair, 1, 960'000, 960'000, 1024).first, 960'000)
      << "20 s, where the pictures are";
  EXPECT_EQ(Fix(repair, 0, 1'800'000, 1'800'000).first, 1'800'000);
  EXPECT_EQ(repair.jumps(), 0);
}

// A camera that sends sound only when there is some.
TEST(TimestampRepair, SoundMayPauseForAsLongAsThePicturesGoOn) {
  constexpr std::int64_t kMinutes = 15;
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  Fix(repair, 0, 0, 0);
  Fix(repair, 1, 0, 0, 1024);
  for (std::int64_t n = 1; n < kMinutes * 60 * 25; ++n) Fix(repair, 0, 3600 * n, 3600 * n);
  const std::int64_t back = kMinutes * 60 * 48'000;
  EXPECT_EQ(Fix(repair, 1, back, back, 1024).first, back);
  EXPECT_EQ(repair.jumps(), 0);
}

TEST(TimestampRepair, PicturesMayNotPauseForAsLongAsSoundGoesOn) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}, {.time_base = k48kHz}});
  Fix(repair, 0, 0, 0);
  for (std::int64_t n = 0; n < 15 * 60; ++n) Fix(repair, 1, 48'000 * n, 48'000 * n, 48'000);
  const std::int64_t back = std::int64_t{15} * 60 * 90'000;
  Fix(repair, 0, back, back);
  EXPECT_EQ(repair.jumps(), 1) << "so many frames would have to be repeated";
}

TEST(TimestampRepair, ADurationThatIsNotTrueMovesNothing) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  Fix(repair, 0, 0, 0, std::int64_t{90'000} * 1'000'000'000);
  EXPECT_EQ(Fix(repair, 0, 3600, 3600).first, 3600);
  EXPECT_EQ(repair.jumps(), 0);
}

TEST(TimestampRepair, NoPacketLastsLongerThanAnHour) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  av::Packet packet = av::NewPacket();
  packet->pts = packet->dts = 0;
  packet->duration = INT64_MAX;
  repair.Fix(0, *packet);
  EXPECT_EQ(packet->duration, 3600 * 90'000);
}

// A broken frame rate in a header must not be counted for each picture without a time.
TEST(TimestampRepair, ATimeMadeUpIsNeverFarBehindTheLast) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  Fix(repair, 0, 0, 0, 75'060'000);
  for (std::int64_t n = 1; n < 4; ++n) {
    EXPECT_EQ(Fix(repair, 0, kNone, kNone, 75'060'000).second, n * 900'000);
  }
  EXPECT_EQ(Fix(repair, 0, 3600, 3600, 75'060'000).second, 4 * 900'000) << "a jump back";
}

TEST(TimestampRepair, TimesThatNoClockShowsAreMissing) {
  TimestampRepair repair(0, {{.time_base = {1, 1}, .frame_seconds = 1}});
  Fix(repair, 0, 0, 0, 1);
  EXPECT_EQ(Fix(repair, 0, INT64_MAX, INT64_MAX, 1).first, 1);
  EXPECT_EQ(Fix(repair, 0, INT64_MIN + 1, 2, 1).first, 2);
  EXPECT_EQ(repair.jumps(), 0);
}

TEST(TimestampRepair, KeepsAGapThatMayBeMeant) {
  TimestampRepair repair(0, {{.time_base = kMpegClock}});
  Fix(repair, 0, 0, 0);
  EXPECT_EQ(Fix(repair, 0, 450'000, 450'000).first, 450'000) << "5 s";
}

TEST(TimestampRepair, FillsInMissingTimesWhereOrderIsKnown) {
  TimestampRepair repair(0, {{.time_base = kMpegClock, .frame_seconds = 0.04}});
  Fix(repair, 0, 0, 0);
  EXPECT_EQ(Fix(repair, 0, kNone, 3600).first, 3600);
  EXPECT_EQ(Fix(repair, 0, kNone, kNone).first, 7200);
}

TEST(TimestampRepair, LeavesUnknownDisplayTimesUnknown) {
  TimestampRepair repair(0, {{.time_base = kMpegClock, .reorders = true, .frame_seconds = 0.04}});
  Fix(repair, 0, 3600, 0);
  const auto [pts, dts] = Fix(repair, 0, kNone, kNone);
  EXPECT_EQ(pts, kNone);
  EXPECT_EQ(dts, 3600);
}

}  // namespace
}  // namespace gopmill
