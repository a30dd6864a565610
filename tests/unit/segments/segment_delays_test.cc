// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_delays.h"

#include <gmock/gmock.h>

namespace gopmill {
namespace {

using std::chrono::seconds;

TEST(SegmentDelaysTest, OneSlowSegmentDoesNotCount) {
  SegmentDelays delays;
  EXPECT_FALSE(delays.known());
  EXPECT_EQ(delays.Usual(), seconds(0));
  delays.Add(0, seconds(9));
  EXPECT_TRUE(delays.known());
  EXPECT_EQ(delays.Usual(), seconds(9)) << "nothing else is known";
  delays.Add(1, seconds(2));
  delays.Add(2, seconds(1));
  EXPECT_EQ(delays.Usual(), seconds(2));
  delays.Add(2, seconds(4));
  delays.Add(2, seconds(3));
  EXPECT_EQ(delays.Usual(), seconds(4)) << "its slowest rendition";
}

TEST(SegmentDelaysTest, OldOnesAreForgotten) {
  SegmentDelays delays;
  for (std::int64_t number = 0; number < 4; ++number) delays.Add(number, seconds(9));
  for (std::int64_t number = 4; number < 10; ++number) delays.Add(number, seconds(1));
  EXPECT_EQ(delays.Usual(), seconds(9));
  delays.Add(10, seconds(1));
  EXPECT_EQ(delays.Usual(), seconds(1));
  delays.Add(1, seconds(9));
  EXPECT_EQ(delays.Usual(), seconds(1)) << "a rendition that is far behind";
}

TEST(SegmentDelaysTest, NothingIsThereBeforeItHasCome) {
  SegmentDelays delays;
  delays.Add(0, seconds(-5));
  EXPECT_EQ(delays.Usual(), seconds(0));
}

}  // namespace
}  // namespace gopmill
