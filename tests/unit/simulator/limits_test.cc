// SPDX-License-Identifier: Apache-2.0
//
// What the simulator and the default policy promise in figures. Long computations in one thread:
// not for the sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "scheduler/sim/check.h"

namespace gopmill::sim {
namespace {

// CPU time of this thread, so that other tests beside it do not count.
double SecondsFor(const Experiment& experiment, const std::string& policy) {
  const Duration before = ThreadCpuNow();
  auto prepared = Prepare(experiment);
  if (!prepared.ok()) return -1;
  prepared->params.policy = policy;
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  EXPECT_TRUE(result.ok() && result->units == 100'000) << policy;
  return ToSeconds(ThreadCpuNow() - before);
}

// How many times slower than the machine of the promise this one is, by a piece of work that is not
// the simulator's; 1 at least.
double Slowness() {
  constexpr double kOnThatMachine = 0.3;  // not optimised, as all of the tests
  const Duration before = ThreadCpuNow();
  std::mt19937_64 random;  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same work each time
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 200'000; ++i) numbers.insert(random());
  EXPECT_EQ(numbers.size(), 200'000U);
  return std::max(1.0, ToSeconds(ThreadCpuNow() - before) / kOnThatMachine);
}

TEST(LimitsTest, AHundredThousandGopsOnTheLargestMachineTakeUnderTenSeconds) {
#ifdef GOPMILL_DEBUG_BUILD
  GTEST_SKIP() << "not optimised";
#endif
  Experiment experiment;
  experiment.topology = "chiplet:4096";
  experiment.streams = 10'000;
  experiment.gops = 10;
  const double slowness = Slowness();
  for (const char* policy : {"fifo", "h-cahrw", "h-ahrw"}) {
    const double seconds = SecondsFor(experiment, policy);
    EXPECT_GT(seconds, 0) << policy;
    EXPECT_LT(seconds, 10 * slowness) << policy;
  }
}

bool IsSetting(const GridPoint& point, std::string_view name,
               std::vector<std::string_view> values) {
  for (const auto& [key, value] : point.settings) {
    if (key != name) continue;
    for (const std::string_view wanted : values) {
      if (value == wanted) return true;
    }
  }
  return false;
}

// Eight of the 240 points of `gopmill simulate --check hearth`; the goal is reached where a machine
// is full and contexts are dear.
TEST(LimitsTest, HearthIsNeverWorseThanHCahrw) {
  Experiment base;
  base.mix = "mixed";
  std::vector<GridPoint> points;
  for (const GridPoint& point : CheckGrid(base)) {
    if (IsSetting(point, "pus", {"8", "64"}) && IsSetting(point, "spread", {"0.4"}) &&
        IsSetting(point, "contexts", {"1", "16"}) && IsSetting(point, "load", {"closed", "0.9"})) {
      points.push_back(point);
    }
  }
  ASSERT_EQ(points.size(), 8U);
  points = WithSeeds(points, kFirstHeldOutSeed + 1, 3);
  const auto runs = RunGrid(points, {"hearth", "h-cahrw"}, 1, {});
  ASSERT_TRUE(runs.ok()) << runs.error().ToString();
  const CheckSummary summary = SummariseCheck(points, *runs, {});
  EXPECT_EQ(summary.failed, 0U);
  EXPECT_EQ(summary.worse, 0U) << summary.text;
  EXPECT_GE(summary.reached, 3U) << summary.text;
}

}  // namespace
}  // namespace gopmill::sim
