// SPDX-License-Identifier: Apache-2.0
#include "server/bench/process_usage.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

namespace gopmill::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20U;

void TouchAndGiveBack() {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  ASSERT_EQ(munmap(memory, kBytes), 0);
}

TEST(ProcessUsageTest, ThePeakOfOneRunIsNotThatOfTheNext) {
  if (!ForgetPeak()) GTEST_SKIP() << "the kernel does not forget";
  const std::int64_t before = UsageNow().peak_bytes;
  TouchAndGiveBack();
  const std::int64_t peak = UsageNow().peak_bytes;
  EXPECT_GT(peak, before + static_cast<std::int64_t>(kBytes) / 2);
  ASSERT_TRUE(ForgetPeak());
  EXPECT_LT(UsageNow().peak_bytes, peak - static_cast<std::int64_t>(kBytes) / 2);
}

}  // namespace
}  // namespace gopmill::bench
