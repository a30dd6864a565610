// SPDX-License-Identifier: Apache-2.0
#include "media/decode_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gopmill {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> All(DecodeTimes times, const std::vector<std::int64_t>& pts) {
  std::vector<std::int64_t> dts;
  for (const std::int64_t time : pts) dts.push_back(times.Next(time));
  return dts;
}

TEST(DecodeTimes, WithoutReorderingTheyAreTheSame) {
  EXPECT_THAT(All(DecodeTimes(0, 10), {5, 15, 25, 40}), ElementsAre(5, 15, 25, 40));
}

TEST(DecodeTimes, GrowAndAreNeverLaterThanThePicture) {
  EXPECT_THAT(All(DecodeTimes(1, 10), {100, 130, 110, 120, 160, 140, 150}),
              ElementsAre(90, 100, 110, 120, 130, 140, 150));
  // A pyramid: the decoder holds two pictures back.
  EXPECT_THAT(All(DecodeTimes(2, 10), {100, 140, 120, 110, 130, 180, 160}),
              ElementsAre(80, 90, 100, 110, 120, 130, 140));
}

TEST(DecodeTimes, LearnOfReorderingThatWasNotAnnounced) {
  const auto dts = All(DecodeTimes(0, 10), {100, 130, 110, 120, 160, 140, 150, 190, 170, 180});
  const std::vector<std::int64_t> pts{100, 130, 110, 120, 160, 140, 150, 190, 170, 180};
  for (std::size_t i = 2; i < dts.size(); ++i) EXPECT_LE(dts[i], pts[i]) << i;
  for (std::size_t i = 4; i < dts.size(); ++i) EXPECT_GT(dts[i], dts[i - 1]) << i;
}

TEST(DecodeTimes, BeginAnewWhereTheClockJumpsBack) {
  EXPECT_THAT(All(DecodeTimes(1, 10), {1000, 1010, 0, 10, 20}), ElementsAre(990, 1000, -10, 0, 10));
}

}  // namespace
}  // namespace gopmill
