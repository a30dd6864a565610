// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_sizes.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(TrackSizesTest, PeakIsOfRowsNearTheTargetDuration) {
  TrackSizes sizes;
  sizes.Add(1, 300, 2);   // 1200 bits per second
  sizes.Add(0, 200, 2);   // 800
  sizes.Add(2, 90, 0.4);  // 1800, too short by itself; with the one before 1300
  EXPECT_EQ(sizes.bytes(), 590);
  EXPECT_EQ(sizes.average_bps(), 1073);  // 4720 / 4.4, rounded up
  EXPECT_EQ(sizes.peak_bps(), 1300);
}

TEST(TrackSizesTest, ShortSegmentsAreSeenTogether) {
  TrackSizes sizes;  // target duration 1
  for (int k = 0; k < 8; ++k) sizes.Add(k, k % 2 == 0 ? 100 : 10, 0.5);
  EXPECT_EQ(sizes.peak_bps(), 1600) << "half a target duration is a row";
  TrackSizes shorter;
  for (int k = 0; k < 8; ++k) shorter.Add(k, k % 2 == 0 ? 100 : 10, 0.4);
  EXPECT_EQ(shorter.peak_bps(), 1400) << "210 bytes in 1.2 s; 110 in 0.8 are fewer";
}

TEST(TrackSizesTest, AMovieShorterThanThatIsOneRow) {
  TrackSizes sizes;
  EXPECT_TRUE(sizes.empty());
  EXPECT_EQ(sizes.peak_bps(), 0);
  sizes.Add(0, 5, 0.04);
  EXPECT_EQ(sizes.peak_bps(), 1000);
  EXPECT_EQ(sizes.average_bps(), 1000);
}

}  // namespace
}  // namespace gopmill
