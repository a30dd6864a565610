// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace gopmill {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kNtp = std::uint64_t{3'900'000'000} << 32U;  // some wall clock
constexpr std::uint64_t NtpAfter(double seconds) {
  return kNtp + static_cast<std::uint64_t>(seconds * 4294967296.0);
}

class RtpClockTest : public testing::Test {
 protected:
  RtpClock clock{{90'000, 48'000}, 0};
};

TEST_F(RtpClockTest, DistancesAreThoseOfTheRtpTimesWhateverTheNetworkDid) {
  const std::int64_t first = clock.OnPacket(0, 5000, 100 * kMs);
  const auto after = [&](std::uint32_t units, std::int64_t arrival_ms) {
    return static_cast<double>(clock.OnPacket(0, 5000 + units, arrival_ms * kMs) - first);
  };
  EXPECT_NEAR(after(3000, 900), 33'333'333, 1);
  EXPECT_NEAR(after(9000, 901), 100 * kMs, 1);
  EXPECT_NEAR(after(6000, 902), 66'666'667, 1);
}

TEST_F(RtpClockTest, GoesOnWhere32BitsWrap) {
  const std::int64_t first = clock.OnPacket(0, 0xffff'ff00U, 0);
  EXPECT_EQ(clock.OnPacket(0, 0xffff'ff00U + 9000, 0) - first, 100 * kMs);
  EXPECT_EQ(clock.OnPacket(0, 0xffff'ff00U, 0), first);  // and back: a picture shown earlier
}

TEST_F(RtpClockTest, WithoutReportsTracksLieAsTheyArrived) {
  const std::int64_t video = clock.OnPacket(0, 1, 100 * kMs);
  EXPECT_EQ(clock.OnPacket(1, 77, 140 * kMs) - video, 40 * kMs);
}

TEST_F(RtpClockTest, ReportsBeforeThePacketsPutTheTracksTogether) {
  clock.OnReport(0, kNtp, 1000);
  clock.OnReport(1, kNtp, 500);
  const std::int64_t video = clock.OnPacket(0, 1000 + 90'000, 100 * kMs);
  // Of the same moment, though it came 300 ms later.
  EXPECT_EQ(clock.OnPacket(1, 500 + 48'000, 400 * kMs), video);
}

// Each track has a jitter buffer of its own, and that of the sound may be the first to let go.
TEST_F(RtpClockTest, PicturesThatComeLastBeginBesideTheSound) {
  clock.OnReport(0, kNtp, 1000);
  clock.OnReport(1, kNtp, 500);
  const std::int64_t sound = clock.OnPacket(1, 500, 100 * kMs);
  EXPECT_EQ(clock.OnPacket(1, 500 + 4800, 100 * kMs) - sound, 100 * kMs);
  EXPECT_EQ(clock.OnPacket(0, 1000, 120 * kMs), sound);
  EXPECT_EQ(clock.OnPacket(1, 500 + 9600, 300 * kMs) - sound, 200 * kMs);
  clock.OnReport(0, NtpAfter(1), 1000 + 90'000);
  EXPECT_EQ(clock.OnPacket(0, 1000 + 90'000, 900 * kMs) - sound, 1000 * kMs);
}

TEST_F(RtpClockTest, SoundsThatCameBeforeThePicturesStayTogether) {
  RtpClock many({90'000, 48'000, 8000}, 0);
  for (std::size_t track = 0; track < 3; ++track) many.OnReport(track, kNtp, 0);
  const std::int64_t second = many.OnPacket(2, 0, 30 * kMs);
  EXPECT_EQ(many.OnPacket(1, 0, 10 * kMs), second);
  EXPECT_EQ(many.OnPacket(0, 0, 90 * kMs), second);
}

TEST_F(RtpClockTest, ALateReportMovesTheSecondTrackAtOnce) {
  const std::int64_t video = clock.OnPacket(0, 0, 100 * kMs);
  const std::int64_t sound = clock.OnPacket(1, 0, 400 * kMs);
  EXPECT_EQ(sound - video, 300 * kMs);
  clock.OnReport(0, kNtp, 0);
  clock.OnReport(1, NtpAfter(0.25), 0);
  EXPECT_EQ(clock.OnPacket(0, 0, 0), video);
  EXPECT_NEAR(static_cast<double>(clock.OnPacket(1, 0, 0) - video), 250e6, 2);
  clock.OnReport(1, NtpAfter(1), 0);  // later ones do not
  EXPECT_NEAR(static_cast<double>(clock.OnPacket(1, 0, 0) - video), 250e6, 2);
}

TEST_F(RtpClockTest, PicturesKeepTheirPlaceThoughTheirReportComesLast) {
  RtpClock many({90'000, 48'000, 8000}, 0);
  std::vector<std::int64_t> times;
  for (std::size_t track = 0; track < 3; ++track) times.push_back(many.OnPacket(track, 0, 0));
  many.OnReport(2, NtpAfter(0.2), 0);
  many.OnReport(1, NtpAfter(0.1), 0);
  EXPECT_NEAR(static_cast<double>(many.OnPacket(2, 0, 0) - many.OnPacket(1, 0, 0)), 100 * kMs, 2);
  many.OnReport(0, kNtp, 0);
  EXPECT_EQ(many.OnPacket(0, 0, 0), times[0]);
  EXPECT_NEAR(static_cast<double>(many.OnPacket(1, 0, 0) - times[0]), 100 * kMs, 2);
  EXPECT_NEAR(static_cast<double>(many.OnPacket(2, 0, 0) - times[0]), 200 * kMs, 2);
}

// A day of a camera whose pictures are timed by its wall clock and whose sound by that of its sound
// card, with reports that waver.
TEST_F(RtpClockTest, SoundOfAnotherClockIsKeptBesideThePictures) {
  constexpr std::int64_t kPacketMs = 100;
  constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;
  for (const double ppm : {100.0, -100.0, 0.0}) {
    RtpClock day({90'000, 48'000}, 0);
    const auto units = [&](std::size_t track, double ms) {
      const double rate = track == 0 ? 90.0 : 48.0 * (1 + ppm / 1e6);
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(ms * rate));
    };
    std::int64_t apart = 0, last[2] = {};
    double step[2] = {};
    for (std::int64_t ms = 0; ms < kDayMs; ms += kPacketMs) {
      for (const std::size_t track : {0U, 1U}) {
        const auto time = day.OnPacket(track, units(track, static_cast<double>(ms)), ms * kMs);
        const double wrong_step = static_cast<double>(time - last[track] - kPacketMs * kMs);
        // The first reports join the tracks, at once.
        if (ms > 5000) step[track] = std::max(step[track], std::abs(wrong_step));
        last[track] = time;
      }
      apart = std::max(apart, std::abs(last[1] - last[0]));
      for (const std::size_t track : {0U, 1U}) {
        if (ms % 5000 != 2000 + 100 * static_cast<std::int64_t>(track)) continue;
        const double waver = ms % 10'000 < 5000 ? 10 : -10;  // milliseconds
        const double wrong = ms < 5000 ? 0 : waver;
        day.OnReport(track, NtpAfter((static_cast<double>(ms) + (track == 1 ? wrong : 0)) / 1000),
                     units(track, static_cast<double>(ms)));
      }
    }
    EXPECT_LT(apart, 60 * kMs) << ppm;
    EXPECT_LT(step[0], 0.02 * kMs) << ppm << ": the pictures are where they were";
    EXPECT_LT(step[1], 0.2 * kMs) << ppm;
  }
}

// Pictures are timed by the sender's clock, sound by its samples, and that clock is set back by
// three seconds: what is downstream closes the leap of the pictures, and sound stays where it was.
TEST_F(RtpClockTest, AClockOfTheSenderThatIsSetMovesNoSound) {
  std::int64_t sound = 0;
  for (std::int64_t second = 0; second < 3600; ++second) {
    const std::int64_t set = second < 60 ? 0 : 3;
    clock.OnPacket(0, static_cast<std::uint32_t>((1000 + second - set) * 90'000),
                   second * 1000 * kMs);
    sound = clock.OnPacket(1, static_cast<std::uint32_t>(second * 48'000), second * 1000 * kMs) -
            second * 1000 * kMs;
    if (second % 5 != 0) continue;
    const double said = static_cast<double>(second - set);
    clock.OnReport(0, NtpAfter(said), static_cast<std::uint32_t>((1000 + second - set) * 90'000));
    clock.OnReport(1, NtpAfter(said), static_cast<std::uint32_t>(second * 48'000));
  }
  EXPECT_NEAR(static_cast<double>(sound), 40'000 * kMs, 50 * kMs) << "the lead alone";
}

TEST_F(RtpClockTest, ReportsOfClocksThatHaveNothingInCommonAreNotBelieved) {
  clock.OnReport(0, kNtp, 0);
  clock.OnReport(1, NtpAfter(3600), 0);
  const std::int64_t video = clock.OnPacket(0, 0, 100 * kMs);
  EXPECT_EQ(clock.OnPacket(1, 0, 120 * kMs) - video, 20 * kMs);
}

TEST_F(RtpClockTest, ReportsThatNeitherTheFirstNorTheNewestPacketsBearOutAreNotBelieved) {
  const std::int64_t video = clock.OnPacket(0, 0, 0);
  const std::int64_t sound = clock.OnPacket(1, 0, 0);
  clock.OnReport(0, kNtp, 0);
  clock.OnReport(1, NtpAfter(8), 0);
  EXPECT_EQ(clock.OnPacket(0, 0, 0), video);
  EXPECT_EQ(clock.OnPacket(1, 0, 0), sound);
}

// A relay that begins with what it has since the last key picture, and with sound as it comes.
TEST_F(RtpClockTest, PicturesThatASenderHadInHandDoNotPutSoundBesideTheOldestOfThem) {
  const std::int64_t begin = clock.OnPacket(0, 0, 0);
  for (std::uint32_t second = 1; second <= 12; ++second) clock.OnPacket(0, second * 90'000, kMs);
  EXPECT_EQ(clock.OnPacket(1, 0, kMs) - begin, kMs);
  clock.OnReport(0, NtpAfter(12), 12 * 90'000);
  clock.OnReport(1, NtpAfter(12), 0);
  EXPECT_NEAR(static_cast<double>(clock.OnPacket(1, 960, 21 * kMs) - begin), 12'020 * kMs, 2);
  EXPECT_FALSE(clock.Overlaps(1));
}

TEST_F(RtpClockTest, SoundThatASenderHadInHandIsLeftOutUntilItGoesOn) {
  clock.OnPacket(0, 0, 0);
  std::int64_t last = 0;
  const auto hear = [&](std::uint32_t second) {
    last = clock.OnPacket(1, second * 48'000, second <= 3 ? 0 : (second - 3) * 1000 * kMs);
    return !clock.Overlaps(1);
  };
  for (std::uint32_t second = 0; second <= 3; ++second) EXPECT_TRUE(hear(second));
  const std::int64_t heard_to = last;
  clock.OnReport(0, NtpAfter(3), 0);
  clock.OnReport(1, NtpAfter(3), 3 * 48'000);  // of the same moment
  for (std::uint32_t second = 4; second <= 6; ++second) {
    EXPECT_FALSE(hear(second)) << second;
    EXPECT_LE(last, heard_to);
  }
  const std::int64_t video = clock.OnPacket(0, 4 * 90'000, 4000 * kMs);
  EXPECT_TRUE(hear(7));
  EXPECT_NEAR(static_cast<double>(last - video), 0, 2);
  EXPECT_GT(last, heard_to);
}

TEST(RtpClockOfManyTest, ATrackOfAnotherClockKeepsNoOtherFromItsPlace) {
  RtpClock clock({48'000, 90'000, 48'000}, 1);
  clock.OnReport(0, NtpAfter(3600), 0);  // the first one to report
  clock.OnReport(1, kNtp, 0);
  clock.OnReport(2, NtpAfter(0.25), 0);
  const std::int64_t odd = clock.OnPacket(0, 0, 100 * kMs);
  const std::int64_t video = clock.OnPacket(1, 0, 120 * kMs);
  EXPECT_EQ(video - odd, 20 * kMs) << "as they arrived";
  EXPECT_NEAR(static_cast<double>(clock.OnPacket(2, 0, 140 * kMs) - video), 250 * kMs, 1);
}

// Under UBSan: nothing overflows, whatever a sender does for however long.
TEST(RtpClockOfWildTimesTest, TimesStayNearThoseOfArrival) {
  for (const std::uint32_t rate : {kSlowestRtpClock, kFastestRtpClock}) {
    for (const std::uint32_t step : {0x7fff'ffffU, 0x8000'0000U, 0x8000'0001U, 3'600'000U}) {
      RtpClock clock({rate, rate}, 0);
      clock.OnReport(0, ~std::uint64_t{0}, 0xffff'ffffU);
      std::uint32_t rtp = 0xffff'fff0U;
      for (std::int64_t i = 0; i < 20'000; ++i, rtp += step) {
        const std::int64_t arrival = 10 * kMs * i;
        ASSERT_LE(std::abs(clock.OnPacket(0, rtp, arrival) - arrival),
                  kFarthestFromArrival + 40'000 * kMs)
            << rate << " " << step << " " << i;
        if (i == 10'000) clock.OnReport(1, 1, rtp);
        static_cast<void>(clock.OnPacket(1, ~rtp, INT64_MAX));
        static_cast<void>(clock.OnPacket(1, rtp, INT64_MIN));
      }
    }
  }
}

TEST_F(RtpClockTest, ATrackThatBeginsAnewGoesOnAtItsArrival) {
  constexpr std::uint32_t kHour = 3600U * 90'000U;
  const std::int64_t first = clock.OnPacket(0, 0, 0);
  EXPECT_EQ(clock.OnPacket(0, 6 * kHour, 0) - first,
            6LL * 3600 * 1000 * kMs);  // a movie, sent fast
  EXPECT_EQ(clock.OnPacket(0, 12 * kHour, 0) - first, 12LL * 3600 * 1000 * kMs);
  EXPECT_EQ(clock.OnPacket(0, 13 * kHour, 500 * kMs) - first, 500 * kMs);
  EXPECT_EQ(clock.OnPacket(0, 13 * kHour + 9000, 500 * kMs) - first, 600 * kMs);
}

// A camera whose clock is set back, or a relay whose own source comes again: the sequence goes on.
TEST_F(RtpClockTest, TimesThatStepBackGoOnFromTheArrival) {
  struct Step {
    std::int64_t after_s, back_s;
  };
  for (const auto& [after_s, back_s] : {Step{60, 3600}, Step{20, 300}, Step{60, 5 * 3600}}) {
    RtpClock stepping({90'000, 48'000}, 0);
    const auto at = [&](std::size_t track, std::int64_t ms, std::int64_t back) {
      const std::int64_t units = (ms - back * 1000) * (track == 0 ? 90 : 48);
      // Sound comes a tenth of a second late.
      return stepping.OnPacket(track, static_cast<std::uint32_t>(units),
                               (ms + (track == 0 ? 0 : 100)) * kMs);
    };
    const std::int64_t zero = at(0, 0, 0);
    const std::int64_t sound = at(1, 0, 0) - zero;
    std::int64_t last = zero;
    for (std::int64_t ms = 0; ms < after_s * 1000; ms += 20) {
      last = at(0, ms, 0);
      static_cast<void>(at(1, ms, 0));
    }
    for (std::int64_t ms = after_s * 1000; ms < (after_s + 60) * 1000; ms += 20) {
      const std::int64_t picture = at(0, ms, back_s);
      ASSERT_NEAR(static_cast<double>(picture - last), 20 * kMs, kMs) << back_s << " " << ms;
      last = picture;
      // It comes to the step half a second later.
      const bool before = ms < after_s * 1000 + 500;
      const std::int64_t heard = at(1, ms, before ? 0 : back_s);
      ASSERT_NEAR(static_cast<double>(heard - picture - sound), 0, 2) << back_s << " " << ms;
    }
  }
}

TEST_F(RtpClockTest, TimesStayPositiveForATrackThatBeginsEarlier) {
  clock.OnReport(0, NtpAfter(4), 0);
  clock.OnReport(1, kNtp, 0);
  EXPECT_GT(clock.OnPacket(0, 0, 0), 0);
  EXPECT_GT(clock.OnPacket(1, 0, 0), 0);
}

}  // namespace
}  // namespace gopmill
