// SPDX-License-Identifier: Apache-2.0
#include "server/bench/process_usage.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <sstream>

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

// The second half of a machine with 2,048 CPUs. Busy are all ticks but those of idle and iowait.
TEST(ProcessUsageTest, BusyTimeIsThatOfAnyCpu) {
  CpuMask cpus;
  for (int cpu = 1024; cpu < 2048; ++cpu) cpus.Add(cpu);
  std::istringstream stat(
      "cpu  9 9 9 9 9 9 9 9 0 0\n"
      "cpu5 9 9 9 9 9 9 9 9 0 0\n"
      "cpu1024 1 2 3 400 500 6 7 8 0 0\n"
      "cpu2047 100 0 0 0 0 0 0 0 0 0\n"
      "intr 9\n");
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_THAT(BusySecondsOf(cpus, stat), testing::Optional(127 / ticks));
}

TEST(ProcessUsageTest, WhatTheKernelDoesNotTellIsNotNothing) {
  CpuMask cpus;
  cpus.Add(3);
  std::istringstream none, others("cpu  9 9 9 9 9 9 9 9\ncpu0 9 9 9 9 9 9 9 9\n");
  EXPECT_EQ(BusySecondsOf(cpus, none), std::nullopt);
  EXPECT_EQ(BusySecondsOf(cpus, others), std::nullopt);
  EXPECT_EQ(OthersSeconds(std::nullopt, 1), std::nullopt);
}

}  // namespace
}  // namespace gopmill::bench
