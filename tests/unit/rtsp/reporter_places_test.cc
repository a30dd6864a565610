// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/reporter_places.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gopmill {
namespace {

constexpr std::uint32_t kMost = ReporterPlaces::kMostOfNetwork;
const TimePoint kBegin = TimePoint() + std::chrono::hours(1);

bool All(std::uint32_t /*reporter*/) { return true; }
bool None(std::uint32_t /*reporter*/) { return false; }

// As many as it may have, from 1 on.
void Fill(ReporterPlaces& places, const std::string& network) {
  for (std::uint32_t reporter = 1; reporter <= kMost; ++reporter) {
    ASSERT_TRUE(places.Take(network, reporter, All, kBegin));
  }
}

TEST(ReporterPlaces, ANetworkTakesNoneOfAnother) {
  ReporterPlaces places;
  Fill(places, "a");
  EXPECT_FALSE(places.Take("a", kMost + 1, All, kBegin));
  EXPECT_TRUE(places.Take("b", kMost + 1, All, kBegin));
}

// Until the session knows it, each part of a packet asks again.
TEST(ReporterPlaces, AReporterHasOnePlace) {
  ReporterPlaces places;
  for (std::uint32_t i = 0; i <= kMost; ++i) ASSERT_TRUE(places.Take("a", 7, All, kBegin));
  EXPECT_TRUE(places.Take("a", 8, All, kBegin));
}

TEST(ReporterPlaces, WhoIsForgottenMakesRoom) {
  ReporterPlaces places;
  Fill(places, "a");
  const auto but_one = [](std::uint32_t reporter) { return reporter != 5; };
  EXPECT_TRUE(places.Take("a", kMost + 1, but_one, kBegin));
  EXPECT_FALSE(places.Take("a", kMost + 2, None, kBegin)) << "it has just been looked";
  EXPECT_TRUE(places.Take("a", kMost + 2, None, kBegin + std::chrono::seconds(1)));
}

// Addresses without end do not look at each of the others each time.
TEST(ReporterPlaces, NetworksThatAreLeftGo) {
  ReporterPlaces places;
  std::uint32_t looks = 0;
  constexpr std::uint32_t kNetworks = 100'000;
  for (std::uint32_t i = 0; i < kNetworks; ++i) {
    const auto is_known = [&](std::uint32_t reporter) {
      ++looks;
      return reporter + 4096 > i;
    };
    ASSERT_TRUE(places.Take(std::to_string(i), i, is_known, kBegin));
    ASSERT_LE(places.networks(), 2 * 4096 + 2);
  }
  EXPECT_LE(looks, 4 * kNetworks);
}

}  // namespace
}  // namespace gopmill
