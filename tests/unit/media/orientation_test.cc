// SPDX-License-Identifier: Apache-2.0
#include "media/orientation.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace gopmill {
namespace {

constexpr std::int32_t kOne = 1 << 16;

Orientation Of(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
  const std::array<std::int32_t, 9> matrix{a, b, 0, c, d, 0, 0, 0, 1 << 30};
  std::vector<std::uint8_t> bytes(sizeof matrix);
  std::memcpy(bytes.data(), matrix.data(), bytes.size());
  return OrientationOf(bytes);
}

// As phones write them (ISO/IEC 14496-12 section 8.5.3).
TEST(Orientation, IsTheQuarterTurnOfTheMatrix) {
  EXPECT_EQ(Of(kOne, 0, 0, kOne), Orientation{});
  EXPECT_EQ(Of(0, kOne, -kOne, 0), (Orientation{.rotation = 90}));
  EXPECT_EQ(Of(-kOne, 0, 0, -kOne), (Orientation{.rotation = 180}));
  EXPECT_EQ(Of(0, -kOne, kOne, 0), (Orientation{.rotation = 270}));
  EXPECT_EQ(Of(-kOne, 0, 0, kOne), (Orientation{.mirrored = true}));
  EXPECT_EQ(Of(kOne, 0, 0, -kOne), (Orientation{.rotation = 180, .mirrored = true}));
}

TEST(Orientation, OfATiltIsTheNearestQuarterTurn) {
  EXPECT_EQ(Of(kOne, kOne / 2, -kOne / 2, kOne), Orientation{});
  EXPECT_EQ(Of(kOne / 2, kOne, -kOne, kOne / 2), (Orientation{.rotation = 90}));
}

TEST(Orientation, OfWhatTellsNoDirectionIsUpright) {
  EXPECT_EQ(Of(0, 0, 0, 0), Orientation{});
  EXPECT_EQ(Of(0, 0, 0, kOne), Orientation{}) << "no width";
  EXPECT_EQ(OrientationOf(std::vector<std::uint8_t>(35, 1)), Orientation{}) << "cut off";
}

// Its sign cannot be turned.
TEST(Orientation, TakesTheLowestNumber) {
  EXPECT_EQ(Of(INT32_MIN, 0, 0, kOne), (Orientation{.mirrored = true}));
  EXPECT_EQ(Of(0, INT32_MIN, kOne, 0).rotation % 90, 0);
}

}  // namespace
}  // namespace gopmill
