// SPDX-License-Identifier: Apache-2.0
#include "media/audio_timeline.h"

#include <gtest/gtest.h>

#include "codec/audio_fifo.h"

namespace gopmill {
namespace {

constexpr Rational kMs{1, 1000};
constexpr int kSampleRate = 48000;

TEST(AudioTimelineTest, TheFirstFrameStartsAnew) {
  AudioTimeline line(kMs, {3600, 1});
  EXPECT_FALSE(line.CarriesOn(500, 1024, kSampleRate));
  EXPECT_EQ(line.expected(), 521);
}

TEST(AudioTimelineTest, RoundingToMillisecondsIsNoGap) {
  AudioTimeline line(kMs, {3600, 1});
  for (std::int64_t n = 0; n < 100'000; ++n) {
    const std::int64_t pts = Rescale(n * 1024, {1, kSampleRate}, kMs);
    ASSERT_EQ(line.CarriesOn(pts, 1024, kSampleRate), n > 0) << n;
  }
}

TEST(AudioTimelineTest, GapsAndOverlapsStartAnew) {
  AudioTimeline line(kMs, {3600, 1});
  EXPECT_FALSE(line.CarriesOn(0, 4800, kSampleRate));
  EXPECT_TRUE(line.CarriesOn(119, 4800, kSampleRate));   // 19 ms late: might be jitter
  EXPECT_FALSE(line.CarriesOn(250, 4800, kSampleRate));  // 50 ms late
  EXPECT_FALSE(line.CarriesOn(300, 4800, kSampleRate));  // 50 ms early
  EXPECT_TRUE(line.CarriesOn(400, 4800, kSampleRate));
}

// Vorbis in old WebM: short and long blocks, each with the time at which it ends.
TEST(AudioTimelineTest, BlocksOfTwoLengthsMayHaveTheTimesOfTheirEnds) {
  for (const bool known : {true, false}) {
    AudioTimeline line(kMs, {3600, 1}, known);
    std::int64_t end = 0;
    int anew = 0;
    for (int n = 0; n < 1000; ++n) {
      const int samples = n % 7 < 3 ? 2048 : 256;
      end += samples;
      anew += line.CarriesOn(Rescale(end, {1, kSampleRate}, kMs), samples, kSampleRate) ? 0 : 1;
    }
    EXPECT_EQ(anew == 1, known) << anew;
  }
}

TEST(AudioTimelineTest, AfterALossASmallGapCounts) {
  AudioTimeline line(kMs, {3600, 1});
  EXPECT_FALSE(line.CarriesOn(0, 480, kSampleRate));
  line.NoteLoss();
  EXPECT_FALSE(line.CarriesOn(20, 480, kSampleRate));  // one packet of 10 ms is missing
  EXPECT_TRUE(line.CarriesOn(40, 480, kSampleRate));   // not lost: jitter
}

TEST(AudioTimelineTest, ASmallOffsetThatStaysIsCorrectedOnce) {
  AudioTimeline line(kMs, {3600, 1});
  EXPECT_FALSE(line.CarriesOn(0, 4800, kSampleRate));
  int restarts = 0;
  for (int n = 1; n < 100; ++n) restarts += line.CarriesOn(n * 100 + 5, 4800, kSampleRate) ? 0 : 1;
  EXPECT_EQ(restarts, 1);
}

TEST(AudioTimelineTest, ABrokenTimeIsNotFilled) {
  AudioTimeline line(kMs, {60, 1});
  EXPECT_FALSE(line.CarriesOn(0, 4800, kSampleRate));
  EXPECT_TRUE(line.CarriesOn(90'000'000, 4800, kSampleRate));
  EXPECT_TRUE(line.CarriesOn(90'000'100, 4800, kSampleRate));
}

TEST(AudioTimelineTest, WithoutTimesFramesFollowEachOther) {
  AudioTimeline line(kMs, {60, 1});
  EXPECT_FALSE(line.CarriesOn(std::nullopt, 4800, kSampleRate));
  EXPECT_TRUE(line.CarriesOn(std::nullopt, 4800, kSampleRate));
  EXPECT_EQ(line.expected(), 200);
}

std::vector<float> Drain(AudioFifo& fifo) {
  std::vector<float> samples(static_cast<std::size_t>(fifo.size()));
  fifo.Copy(0, fifo.size(), samples.data(), 1);
  fifo.Drop(fifo.size());
  return samples;
}

TEST(AudioFifoTest, CutsBeforeZeroAfterTheLimitAndOverlaps) {
  AudioFifo fifo(1, 6);
  const float samples[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const float* planes[] = {samples};
  EXPECT_EQ(fifo.Seek(-2), 0);
  fifo.Append(planes, 4);  // 3 and 4 at 0 and 1
  EXPECT_EQ(fifo.Seek(1), 0);
  fifo.Append(planes, 2);  // 1 overlaps, 2 at 2
  EXPECT_EQ(fifo.Seek(4), 1);
  fifo.AppendSilence(1);
  EXPECT_FALSE(fifo.full());
  fifo.Append(planes, 8);
  EXPECT_TRUE(fifo.full());
  EXPECT_EQ(fifo.Seek(100), 0);  // nothing is filled beyond the limit
  EXPECT_EQ(fifo.position(), 0);
  EXPECT_EQ(Drain(fifo), (std::vector<float>{3, 4, 2, 0, 1, 2}));
  EXPECT_EQ(fifo.position(), 6);
}

TEST(AudioFifoTest, LateSoundStartsLate) {
  AudioFifo fifo(1, std::nullopt);
  EXPECT_EQ(fifo.Seek(5000), 0);
  EXPECT_EQ(fifo.position(), 5000);
}

}  // namespace
}  // namespace gopmill
