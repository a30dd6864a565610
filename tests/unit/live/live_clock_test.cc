// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_clock.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMs = 1'000'000;

TEST(LiveClockTest, AStretchIsDatedByItsPromptestPictureUntilSomebodyAsks) {
  LiveClock clock;
  const WallTime zero(std::chrono::seconds(1000));
  clock.OnPicture(0, 0, zero + milliseconds(300), false);
  clock.OnPicture(100 * kMs, 100 * kMs, zero + milliseconds(120), false);
  EXPECT_EQ(clock.At(0, 0).zero, zero + milliseconds(20));
  clock.OnPicture(200 * kMs, 200 * kMs, zero + milliseconds(200), false);
  EXPECT_EQ(clock.At(0, 0).zero, zero + milliseconds(20)) << "a date that was told does not change";
  EXPECT_EQ(clock.At(0, 0).WallOf(200 * kMs), zero + milliseconds(220));
}

TEST(LiveClockTest, AGapBeginsAnotherStretch) {
  LiveClock clock;
  const WallTime zero(std::chrono::seconds(1000));
  clock.OnPicture(0, 0, zero, false);
  clock.OnPicture(40 * kMs, 40 * kMs, zero + milliseconds(9040), true, 3);
  EXPECT_EQ(clock.At(0, 0).publisher, 0);
  EXPECT_EQ(clock.At(40 * kMs, 0).publisher, 3);
  EXPECT_EQ(clock.At(39 * kMs, 0).number, 0);
  EXPECT_EQ(clock.At(39 * kMs, kMs).number, 1);
  EXPECT_EQ(clock.At(80 * kMs, 0).WallOf(80 * kMs), zero + milliseconds(9080));
  for (std::int64_t n = 1; n <= 200; ++n) clock.OnPicture(n * kMs * 100, n * kMs * 100, zero, true);
  EXPECT_EQ(clock.At(0, 0).number, 202 - static_cast<std::int64_t>(kKeptStretches));
}

// Pictures each 40 ms until `end`, on a clock that loses `lost_ppm`; those shown lie to and fro.
void Play(LiveClock& clock, std::int64_t lost_ppm, std::chrono::seconds end) {
  for (std::int64_t ms = 0; ms < milliseconds(end).count(); ms += 40) {
    const milliseconds late((ms * lost_ppm) / 1'000'000);
    const std::int64_t shown = ms + 40 * ((ms / 40) % 3);
    clock.OnPicture(shown * kMs, ms * kMs, WallTime(milliseconds(ms) + late), false);
    if (ms == 4000) clock.At(0, 0);
  }
}

TEST(LiveClockTest, ASlowClockBeginsAStretchWheneverItIsOutByTheLimit) {
  LiveClock clock;
  Play(clock, 1000, std::chrono::seconds(1000));  // loses a second
  const LiveClock::Stretch last = clock.At(999'000 * kMs, 0);
  EXPECT_EQ(last.number, 4);
  EXPECT_NEAR(std::chrono::duration<double>(last.WallOf(999'000 * kMs).time_since_epoch()).count(),
              999.0 + 0.999, 0.3)
      << "as far from the wall as the limit and two pictures";
  EXPECT_EQ(clock.At(150'000 * kMs, 0).number, 0) << "what was dated stays";
}

TEST(LiveClockTest, AFastClockMayBeOutByMore) {
  LiveClock clock;
  Play(clock, -1000, std::chrono::seconds(990));
  EXPECT_EQ(clock.At(989'000 * kMs, 0).number, 0);
  LiveClock longer;
  Play(longer, -1000, std::chrono::seconds(1200));
  EXPECT_EQ(longer.At(1'199'000 * kMs, 0).number, 1);
}

TEST(LiveClockTest, WhoSendsAllAtOnceGetsAStretchEachHalfMinute) {
  LiveClock clock;
  for (std::int64_t second = 0; second < 100; ++second) {
    clock.OnPicture(second * 1000 * kMs, second * 1000 * kMs, WallTime(), false);
    clock.At(0, 0);
  }
  EXPECT_EQ(clock.At(99'000 * kMs, 0).number, 3);
  EXPECT_EQ(clock.At(99'000 * kMs, 0).WallOf(90'000 * kMs), WallTime());
}

// A picture that is shown `at` milliseconds of the reader's clock, and where its stretch has it.
milliseconds DateOf(LiveClock& clock, std::int64_t at, milliseconds wall) {
  clock.OnPicture(at * kMs, at * kMs, WallTime() + wall, true);
  const WallTime date = clock.At(at * kMs, 0).WallOf(at * kMs);
  return std::chrono::duration_cast<milliseconds>(date.time_since_epoch());
}

TEST(LiveClockTest, AWallClockThatIsSetDatesTheStretchAnew) {
  LiveClock clock;
  const auto show = [&](std::int64_t ms, milliseconds wall) {
    clock.OnPicture(ms * kMs, ms * kMs, WallTime() + wall, false);
  };
  const milliseconds later = std::chrono::hours(24);
  show(0, milliseconds(0));
  show(40, milliseconds(40) + later);
  EXPECT_EQ(clock.At(0, 0).zero, WallTime() + later) << "nobody had asked";
  show(31'000, milliseconds(31'000) + 2 * later);
  EXPECT_EQ(clock.At(30'000 * kMs, 0).zero, WallTime() + later) << "what was dated stays";
  EXPECT_EQ(clock.At(31'000 * kMs, 0).zero, WallTime() + 2 * later);
}

TEST(LiveClockTest, AStretchThatIsALittleEarlyDoesNotGoBack) {
  LiveClock clock;
  EXPECT_EQ(DateOf(clock, 0, milliseconds(0)), milliseconds(0));
  EXPECT_EQ(DateOf(clock, 10'000, milliseconds(9100)), milliseconds(10'000));
  EXPECT_EQ(DateOf(clock, 20'000, milliseconds(20'700)), milliseconds(20'700)) << "it is late";
  EXPECT_EQ(DateOf(clock, 30'000, milliseconds(30'600)), milliseconds(30'700));
}

TEST(LiveClockTest, BehindAPublisherThatWasFarAheadAStretchIsDatedAsItCame) {
  LiveClock clock;
  EXPECT_EQ(DateOf(clock, 0, milliseconds(0)), milliseconds(0));
  EXPECT_EQ(DateOf(clock, 10'000, milliseconds(4000)), milliseconds(4000));
}

}  // namespace
}  // namespace gopmill
