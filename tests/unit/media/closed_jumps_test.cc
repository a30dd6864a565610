// SPDX-License-Identifier: Apache-2.0
#include "media/closed_jumps.h"

#include <gtest/gtest.h>

#include "media/timestamp_repair.h"

namespace gopmill {
namespace {

constexpr std::int64_t kJumpSecond = 1'000'000;

// Pictures each second, with these jumps of the clock.
ClosedJumps Closed(std::initializer_list<std::pair<int, int>> parts) {
  TimestampRepair repair(0, {{.time_base = {1, 1000}}});
  for (const auto& [from, end] : parts) {
    for (int second = from; second < end; ++second) {
      const av::Packet packet = av::NewPacket();
      packet->pts = packet->dts = 1000 * second;
      packet->duration = 1000;
      repair.Fix(0, *packet);
    }
  }
  return repair.closed();
}

std::int64_t Moved(const ClosedJumps& jumps, int second, std::size_t closed = 0) {
  return WithoutJumps(jumps, second * kJumpSecond, closed) / kJumpSecond;
}

TEST(ClosedJumps, TimesBehindAnOutageComeForward) {
  const ClosedJumps jumps = Closed({{0, 30}, {60, 90}, {190, 200}});
  ASSERT_EQ(jumps.size(), 2U);
  EXPECT_EQ(Moved(jumps, 29), 29);
  EXPECT_EQ(Moved(jumps, 30), 30);
  EXPECT_EQ(Moved(jumps, 45), 30) << "inside";
  EXPECT_EQ(Moved(jumps, 60), 30);
  EXPECT_EQ(Moved(jumps, 89), 59);
  EXPECT_EQ(Moved(jumps, 120), 60);
  EXPECT_EQ(Moved(jumps, 195), 65);
  EXPECT_EQ(Moved(jumps, 20, 2), 20) << "whenever it was read";
  EXPECT_EQ(Moved(jumps, 195, 1), 65);
}

// The clock begins anew after 100 s.
TEST(ClosedJumps, TimesThatComeAgainGoByWhenTheyWereRead) {
  const ClosedJumps jumps = Closed({{0, 100}, {0, 50}, {80, 90}});
  ASSERT_EQ(jumps.size(), 2U);
  EXPECT_EQ(Moved(jumps, 20, 0), 20);
  EXPECT_EQ(Moved(jumps, 20, 1), 120);
  EXPECT_EQ(Moved(jumps, 85, 0), 85);
  EXPECT_EQ(Moved(jumps, 85, 1), 155);
  EXPECT_EQ(Moved(jumps, 60, 2), 150);
}

TEST(ClosedJumps, WhoBeginsBehindThemHasNotSeenThem) {
  const ClosedJumps jumps = Closed({{0, 30}, {60, 90}, {190, 200}});
  EXPECT_EQ(ShiftAt(jumps, 29 * kJumpSecond), 0);
  EXPECT_EQ(ShiftAt(jumps, 60 * kJumpSecond), -30 * kJumpSecond);
  EXPECT_EQ(ShiftAt(jumps, 195 * kJumpSecond), -130 * kJumpSecond);
  EXPECT_EQ(ShiftAt({}, kJumpSecond), 0);
}

}  // namespace
}  // namespace gopmill
