// SPDX-License-Identifier: Apache-2.0
#include "base/utc_time.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(UtcTime, CutsOffWhatIsFinerThanTheText) {
  const WallTime time = std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} +
                        std::chrono::hours(23) + std::chrono::minutes(5) +
                        std::chrono::microseconds(9'078'999);
  EXPECT_EQ(UtcSeconds(time), "2024-02-29T23:05:09Z");
  EXPECT_EQ(UtcMillis(time), "2024-02-29T23:05:09.078Z");
}

TEST(UtcTime, KnowsTimesBefore1970) {
  const WallTime time = WallTime() - std::chrono::milliseconds(1);
  EXPECT_EQ(UtcSeconds(time), "1969-12-31T23:59:59Z");
  EXPECT_EQ(UtcMillis(time), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace gopmill
