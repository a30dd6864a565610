// SPDX-License-Identifier: Apache-2.0
//
// What the simulator and the default policy promise in figures. Long computations in one thread:
// not for the sanitizers.
#include <gtest/gtest.h>

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

TEST(LimitsTest, AHundredThousandGopsOnTheLargestMachineTakeUnderTenSeconds) {
#ifdef GOPMILL_DEBUG_BUILD
  GTEST_SKIP() << "not optimised";
#endif
  Experiment experiment;
  experiment.topology = "chiplet:4096";
  experiment.streams = 10'000;
  experiment.gops = 10;
  for (const char* policy : {"fifo", "h-cahrw", "h-ahrw"}) {
    const double seconds = SecondsFor(experiment, policy);
    EXPECT_GT(seconds, 0) << policy;
    EXPECT_LT(seconds, 10) << policy;
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
