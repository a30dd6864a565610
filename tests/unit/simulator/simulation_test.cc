// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/policy_registry.h"
#include "scheduler/sim/arrivals.h"
#include "scheduler/sim/check.h"
#include "scheduler/sim/experiment.h"
#include "scheduler/sim/report.h"
#include "scheduler/sim/sweep.h"

namespace gopmill::sim {
namespace {

SimResult RunPolicy(const Experiment& experiment, const std::string& policy) {
  auto prepared = Prepare(experiment);
  EXPECT_TRUE(prepared.ok()) << prepared.error().ToString();
  prepared->params.policy = policy;
  auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  EXPECT_TRUE(result.ok()) << policy << ": " << result.error().ToString();
  return std::move(result).value();
}

class EveryPolicyTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPolicyTest, DoesAllTheWorkUnderEveryKindOfArrivals) {
  for (const char* arrivals : {"closed", "poisson", "batch:4", "geometric:8", "onoff", "live"}) {
    Experiment experiment;
    experiment.topology = "e5335";
    experiment.arrivals = arrivals;
    experiment.streams = 10;
    experiment.gops = 20;
    const SimResult result = RunPolicy(experiment, GetParam());
    EXPECT_EQ(result.units, 200U) << arrivals;
    EXPECT_GT(result.utilisation, result.useful * 0.99) << arrivals;
    EXPECT_LE(result.utilisation, 1.0 + 1e-9) << arrivals;
    EXPECT_GE(result.out_of_order, 0) << arrivals;
  }
}

// Whatever of a batch there is room for in a stream.
TEST(BatchedArrivalsTest, OfferTheLoadThatIsAskedFor) {
  for (const char* arrivals : {"batch:10", "batch:1000", "geometric:1000"}) {
    Experiment experiment;
    experiment.topology = "pu:8";
    experiment.arrivals = arrivals;
    experiment.load = 0.8;
    experiment.streams = 400;
    experiment.gops = 50;
    EXPECT_GT(RunPolicy(experiment, "fifo").utilisation, 0.6) << arrivals;
  }
}

TEST_P(EveryPolicyTest, GivesTheSameFiguresForTheSameSeed) {
  Experiment experiment;
  experiment.topology = "opteron-2350";
  experiment.gops = 30;
  experiment.classes = "live:5,vod:3,batch:1";
  const auto text = [&] {
    const SimResult result = RunPolicy(experiment, GetParam());
    return JsonText(experiment, {{experiment, {}}}, {{.policy = GetParam(), .result = result}});
  };
  EXPECT_EQ(text(), text());
}

std::vector<std::string> PolicyNameList() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : Policies()) names.emplace_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicyTest, ::testing::ValuesIn(PolicyNameList()),
                         [](const auto& test_case) {
                           std::string name = test_case.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(SimulationTest, ASharedQueueNeverLeavesAWorkerIdleWhileUnitsWait) {
  Experiment experiment;
  experiment.topology = "e5335";
  EXPECT_EQ(RunPolicy(experiment, "fifo").idle_waiting_share, 0);
  EXPECT_EQ(RunPolicy(experiment, "fifo").idle_waiting_longest_ms, 0);
  // The hash alone does: that is what the figure is for.
  EXPECT_GT(RunPolicy(experiment, "hrw").idle_waiting_share, 0.01);
}

TEST(SimulationTest, OneWorkerKeepsOrderAndItsTime) {
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.streams = 2;
  experiment.gops = 50;
  const SimResult result = RunPolicy(experiment, "fifo");
  EXPECT_EQ(result.out_of_order, 0);
  EXPECT_NEAR(result.utilisation, 1, 1e-6);
  EXPECT_EQ(result.imbalance, 0);
  // Two contexts fit: cold is only the first unit of each stream.
  EXPECT_NEAR(result.hit_rate, 1 - 2.0 / 100, 1e-9);
}

TEST(SimulationTest, TheOfferedLoadIsWhatWasAskedFor) {
  for (const char* arrivals : {"poisson", "geometric:4", "live"}) {
    Experiment experiment;
    experiment.topology = "pu:8";
    experiment.arrivals = arrivals;
    experiment.load = 0.5;
    experiment.gops = 400;
    experiment.spread = 0;
    EXPECT_NEAR(RunPolicy(experiment, "fifo").useful, 0.5, 0.05) << arrivals;
  }
}

TEST(SimulationTest, AFewStreamsAtOnceAreStillAllDone) {
  Experiment experiment;
  experiment.topology = "pu:4";
  experiment.concurrent = 3;
  experiment.streams = 10;
  experiment.gops = 7;
  EXPECT_EQ(RunPolicy(experiment, "fifo").units, 70U);
}

TEST(SimulationTest, WhatCannotBeSimulatedIsRefused) {
  auto prepared = Prepare({});
  ASSERT_TRUE(prepared.ok());
  SimulationParams params = prepared->params;
  params.policy = "no-such";
  EXPECT_FALSE(Simulate(params, prepared->machine, prepared->workload).ok());
  params.policy = "fifo";
  params.workers = -1;
  EXPECT_FALSE(Simulate(params, prepared->machine, prepared->workload).ok());
  params.workers = 0;
  params.run_queue_units = -1;
  EXPECT_FALSE(Simulate(params, prepared->machine, prepared->workload).ok());
  params.run_queue_units = 2;
  EXPECT_FALSE(Simulate(params, prepared->machine, Workload{}).ok());
}

TEST(GridTest, RunsEveryPolicyAtEveryPoint) {
  Experiment base;
  base.topology = "pu:2";
  base.gops = 5;
  const auto grid =
      MakeGrid(base, {ParseSweep("contexts=1,4").value(), ParseSweep("spread=0:0.2:0.1").value()});
  ASSERT_TRUE(grid.ok());
  ASSERT_EQ(grid->size(), 6U);
  std::size_t reported = 0;
  const auto runs = RunGrid(*grid, {"fifo", "hrw"}, 2, [&](std::size_t, std::size_t total) {
    ++reported;
    return total == 12;
  });
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(reported, 12U);
  for (const GridRun& run : *runs) EXPECT_TRUE(run.result.has_value());
  EXPECT_EQ(grid->at(5).settings[1].second, "0.2");
  const std::string csv = CsvText(*grid, *runs);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 13);
  EXPECT_EQ(csv.find("decision_us"), std::string::npos) << "it differs from run to run";
  EXPECT_NE(CsvText(*grid, *runs, Timing::kShown).find("decision_us"), std::string::npos);
}

SimResult With(double gops_per_second, double p99_ms) {
  SimResult result;
  result.gops_per_second = gops_per_second;
  result.p99_ms = p99_ms;
  return result;
}

TEST(CheckTest, CountsWhatIsReachedAndWhatIsWorse) {
  const std::vector<GridPoint> points(4);
  std::vector<GridRun> runs;
  const auto add = [&](std::size_t point, const SimResult& mine) {
    runs.push_back({.point = point, .policy = "mine", .result = mine});
    runs.push_back({.point = point, .policy = "rival", .result = With(100, 10)});
  };
  add(0, With(111, 10));    // more throughput
  add(1, With(100, 6.9));   // less latency
  add(2, With(105, 8));     // neither by enough
  add(3, With(120, 10.2));  // one bought with the other
  const CheckSummary summary = SummariseCheck(points, runs, {});
  EXPECT_EQ(summary.reached, 3U);
  EXPECT_EQ(summary.worse, 1U);
  EXPECT_NEAR(summary.worst_throughput, 1, 1e-9);
  EXPECT_NEAR(summary.worst_p99, 1.02, 1e-9);
}

TEST(CheckTest, CoversTheWholeField) {
  const std::vector<GridPoint> points = CheckGrid({});
  EXPECT_EQ(points.size(), 4U * 4 * 3 * 5);
  for (const GridPoint& point : points) EXPECT_TRUE(LoadMachine(point.experiment.topology).ok());
}

TEST(GridTest, CanBeStopped) {
  Experiment base;
  base.topology = "pu:2";
  const auto runs = RunGrid({{base, {}}}, {"fifo", "rr", "hrw"}, 1,
                            [](std::size_t, std::size_t) { return false; });
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace gopmill::sim
