// SPDX-License-Identifier: Apache-2.0
#include "base/log_limit.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(LogLimit, LetsOneLineThroughInEachInterval) {
  LogLimit limit(std::chrono::seconds(10));
  const TimePoint start = SteadyNow();
  EXPECT_TRUE(limit.Allows(start));
  EXPECT_FALSE(limit.Allows(start));
  EXPECT_FALSE(limit.Allows(start + std::chrono::seconds(9)));
  EXPECT_TRUE(limit.Allows(start + std::chrono::seconds(10)));
  EXPECT_FALSE(limit.Allows(start + std::chrono::seconds(19)));
}

}  // namespace
}  // namespace gopmill
