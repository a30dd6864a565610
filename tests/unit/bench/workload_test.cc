// SPDX-License-Identifier: Apache-2.0
#include "server/bench/workload.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace gopmill::bench {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(WorkloadTest, ReferenceIsThePublishedDraw) {
  const auto streams = ReferenceWorkload(20, "m");
  ASSERT_EQ(streams.size(), 20U);
  EXPECT_EQ(streams[0].movie, "m/ref-animation.mpg");
  const auto narrow = std::ranges::count(streams, 128, &BenchStream::width);
  const auto wide = std::ranges::count(streams, 704, &BenchStream::width);
  EXPECT_EQ(narrow, 3);
  EXPECT_EQ(wide, 7);
}

TEST(WorkloadTest, LiveIsPacedAndBurstyBeginsInBursts) {
  const Mix& live = **FindMix("live");
  EXPECT_THAT(live.make(4, "m", 1), Each(Field(&BenchStream::realtime, true)));
  const auto bursty = (*FindMix("bursty"))->make(40, "m", 1);
  EXPECT_TRUE(std::ranges::is_sorted(bursty, {}, &BenchStream::begin));
  EXPECT_EQ(bursty.front().begin.count(), 0);
  EXPECT_GT(bursty.back().begin.count(), 0);
  const auto other = (*FindMix("bursty"))->make(40, "m", 2);
  EXPECT_NE(bursty.back().begin, other.back().begin);
}

TEST(WorkloadTest, WrongNamesAndMissingMoviesAreSaid) {
  const auto mix = FindMix("nonsense");
  ASSERT_FALSE(mix.ok());
  EXPECT_THAT(mix.error().accepted, HasSubstr("bursty"));
  const Status movies = CheckMovies(ReferenceWorkload(1, "/nonexistent"));
  ASSERT_FALSE(movies.ok());
  EXPECT_EQ(movies.error().parameter, "movies");
  EXPECT_THAT(movies.error().message, HasSubstr("/nonexistent/ref-animation.mpg"));
}

}  // namespace
}  // namespace gopmill::bench
