// SPDX-License-Identifier: Apache-2.0
//
// The grid decides which source frame each output frame shows. At equal rates every source frame
// must be shown exactly once, whatever the container's clock rounds to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "media/plan.h"

namespace gopmill {
namespace {

constexpr Rational kMillisecond{1, 1000};
constexpr Rational k90kHz{1, 90'000};

// pts of `count` frames at `fps`, rounded to the nearest tick as a muxer does.
std::vector<SourceTicks> RoundedPts(Rational fps, Rational time_base, int count) {
  std::vector<SourceTicks> pts;
  for (int i = 0; i < count; ++i) pts.push_back(Rescale(i, fps.Inverse(), time_base));
  return pts;
}

// Index of the source frame that output frame n shows.
std::size_t Shown(const OutputGrid& grid, const std::vector<SourceTicks>& pts, std::int64_t n) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < pts.size() && pts[i] <= grid.LatestPts(n); ++i) shown = i;
  return shown;
}

struct RateCase {
  Rational fps, time_base;
};
class EqualRates : public testing::TestWithParam<RateCase> {};

TEST_P(EqualRates, MapOneToOne) {
  const auto [fps, time_base] = GetParam();
  const auto pts = RoundedPts(fps, time_base, 2000);
  const OutputGrid grid(fps, fps, time_base, 0);
  for (std::int64_t n = 0; n < 2000; ++n) {
    ASSERT_EQ(Shown(grid, pts, n), static_cast<std::size_t>(n)) << "output frame " << n;
  }
  const SourceTicks end = pts.back() + Rescale(1, fps.Inverse(), time_base);
  EXPECT_EQ(grid.FrameCount(end), 2000);
}

INSTANTIATE_TEST_SUITE_P(
    Containers, EqualRates,
    testing::Values(RateCase{{24, 1}, kMillisecond}, RateCase{{30, 1}, kMillisecond},
                    RateCase{{24000, 1001}, kMillisecond}, RateCase{{30000, 1001}, kMillisecond},
                    RateCase{{60000, 1001}, kMillisecond}, RateCase{{24, 1}, k90kHz},
                    RateCase{{25, 1}, k90kHz}, RateCase{{30000, 1001}, k90kHz},
                    RateCase{{60000, 1001}, k90kHz}, RateCase{{120, 1}, kMillisecond},
                    RateCase{{24, 1}, {1, 12288}}, RateCase{{25, 1}, {1, 25}}));

// A camera's times waver; what is announced as live forgives a quarter of a frame.
TEST(OutputGrid, OfALiveSourceShowsEachPictureOnceThoughItsClockWavers) {
  auto pts = RoundedPts({30, 1}, k90kHz, 600);
  for (std::size_t i = 0; i < pts.size(); ++i) pts[i] += static_cast<SourceTicks>(i * 37 % 11) * 60;
  const OutputGrid live({30, 1}, {30, 1}, k90kHz, pts[0], true);
  for (std::int64_t n = 0; n < 600; ++n) {
    ASSERT_EQ(Shown(live, pts, n), static_cast<std::size_t>(n)) << "output frame " << n;
  }
}

TEST(OutputGrid, CountedFromAFrameShowsTheSamePictures) {
  const auto pts = RoundedPts({30000, 1001}, k90kHz, 500);
  const OutputGrid grid({24, 1}, {30000, 1001}, k90kHz, pts[0]);
  const OutputGrid later = grid.CountedFrom(100).CountedFrom(11);
  EXPECT_EQ(later.first(), 111);
  for (std::int64_t n = 0; n < 200; ++n) {
    ASSERT_EQ(later.LatestPts(n), grid.LatestPts(n + 111));
    ASSERT_EQ(later.SourceMicros(n), grid.SourceMicros(n + 111));
  }
  for (const SourceTicks shown : pts) {
    const std::int64_t frame = std::max<std::int64_t>(0, grid.FirstFrameShowing(shown) - 111);
    ASSERT_EQ(later.FirstFrameShowing(shown), frame);
  }
}

// Cameras; and files whose times were once whole milliseconds, in a finer time base now.
TEST(OutputGrid, OfEqualRatesShowsEachPictureOnceThoughTimesWaver) {
  const OutputGrid grid({30, 1}, {30, 1}, {1, 90'000}, 0);
  for (std::int64_t n = 0; n < 3000; ++n) {
    const std::int64_t off = n == 0 ? 0 : n * 7919 % 2601 - 1300;  // up to 14 ms
    EXPECT_EQ(grid.FirstFrameShowing(3000 * n + off), n);
  }
  EXPECT_EQ(grid.FrameCount(3000 * 240 + 33), 240);
  EXPECT_EQ(grid.FramesBefore({3000 * 240 + 33, 90'000}), 241) << "of what is asked for";
}

TEST(OutputGrid, HalvingTheRateShowsEverySecondFrame) {
  const auto pts = RoundedPts({30, 1}, kMillisecond, 300);
  const OutputGrid grid({15, 1}, {30, 1}, kMillisecond, 0);
  for (std::int64_t n = 0; n < 150; ++n) {
    EXPECT_EQ(Shown(grid, pts, n), static_cast<std::size_t>(2 * n));
  }
  EXPECT_EQ(grid.FrameCount(10'000), 150);
}

TEST(OutputGrid, DoublingTheRateShowsEachFrameTwice) {
  const auto pts = RoundedPts({24, 1}, k90kHz, 48);
  const OutputGrid grid({48, 1}, {24, 1}, k90kHz, 0);
  for (std::int64_t n = 0; n < 96; ++n) {
    EXPECT_EQ(Shown(grid, pts, n), static_cast<std::size_t>(n / 2));
  }
}

TEST(OutputGrid, CountsFramesThatStartBeforeTheEnd) {
  const OutputGrid grid({24, 1}, {24, 1}, k90kHz, 0);
  EXPECT_EQ(grid.FrameCount(90'000), 24);
  EXPECT_EQ(grid.FrameCount(90'000 + 3750), 25);
  EXPECT_EQ(grid.FrameCount(90'000 + 100), 24) << "times are rounded";
  EXPECT_EQ(grid.FramesBefore({90'000 + 100, 90'000}), 25) << "a frame that starts inside is shown";
  EXPECT_EQ(grid.FrameCount(0), 0);
}

// A picture each 4.48 s, which is a tick as well.
TEST(OutputGrid, AnEndThatIsAskedForIsNotRoundedToTicks) {
  const OutputGrid grid({1, 1}, {25, 112}, {112, 25}, 1);
  EXPECT_EQ(grid.FramesBefore({20, 1}), 16) << "15.52 s from the second picture on";
  EXPECT_EQ(grid.FramesBefore({448, 100}), 0);
}

TEST(OutputGrid, StartsAtItsOrigin) {
  const OutputGrid grid({25, 1}, {25, 1}, k90kHz, 126'000);
  EXPECT_EQ(grid.FirstFrameShowing(126'000), 0);
  EXPECT_EQ(grid.FirstFrameShowing(126'000 + 3600), 1);
  EXPECT_EQ(grid.FirstFrameShowing(0), 0) << "frames before the origin belong to the first one";
  EXPECT_GE(grid.LatestPts(0), 126'000);
}

TEST(OutputGrid, FirstFrameShowingIsTheInverseOfLatestPts) {
  for (const Rational fps : {Rational{15, 1}, Rational{30000, 1001}, Rational{26, 1}}) {
    const OutputGrid grid(fps, {30000, 1001}, k90kHz, 77);
    for (SourceTicks pts = 77; pts < 400'000; pts += 1234) {
      const std::int64_t n = grid.FirstFrameShowing(pts);
      EXPECT_GE(grid.LatestPts(n), pts);
      if (n > 0) {
        EXPECT_LT(grid.LatestPts(n - 1), pts);
      }
    }
  }
}

TEST(OutputGrid, StaysExactAfterTenHours) {
  const Rational fps{30000, 1001};
  const OutputGrid grid(fps, fps, k90kHz, 0);
  const std::int64_t n = 36'000LL * 30000 / 1001;
  EXPECT_EQ(grid.FirstFrameShowing(n * 3003), n);
}

TEST(OutputGrid, TellsWhenAFrameIsShownAndWhichIsFirstFromATimeOn) {
  const OutputGrid grid({30'000, 1'001}, {25, 1}, k90kHz, 45'000);  // half a second in
  EXPECT_EQ(grid.SourceMicros(0), 500'000);
  EXPECT_EQ(grid.SourceMicros(30), 1'501'000);
  EXPECT_EQ(grid.SourceMicros(-30), -501'000);
  for (std::int64_t ms = -3'000; ms <= 3'000; ++ms) {
    const std::int64_t n = grid.FirstFrameAt(ms);
    EXPECT_GE(grid.SourceMicros(n) / 1000, ms);
    EXPECT_LT(grid.SourceMicros(n - 1) / 1000, ms);
  }
}

}  // namespace
}  // namespace gopmill
