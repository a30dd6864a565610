// SPDX-License-Identifier: Apache-2.0
//
// The dispatcher of the simulator as one thread whose decisions take time: when units begin and
// end, to the nanosecond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "scheduler/policy_registry.h"
#include "scheduler/sim/experiment.h"
#include "scheduler/sim/report.h"
#include "scheduler/sim/simulation.h"

namespace gopmill::sim {
namespace {

using ::testing::HasSubstr;

// A stream for each unit of 10 ms, by the times at which they come.
Workload UnitsAt(const std::vector<double>& arrivals_ms) {
  Workload workload{.name = "made up", .feed = Feed::kOpen, .streams = {}, .units = {}};
  for (const double at : arrivals_ms) {
    const auto place = static_cast<std::uint32_t>(workload.units.size());
    workload.streams.push_back(
        {.id = StreamId{place + 1}, .number = place, .first_unit = place, .unit_count = 1});
    workload.units.push_back({.arrival_ms = at, .hot_ms = 10, .context = place + 1});
  }
  return workload;
}

// All that is there cost nothing but the units' 10 ms and the decisions.
SimResult RunDeciding(const std::string& policy, int workers, double decision_ms,
                      const Workload& workload, int run_queue_units = 2) {
  const Machine machine = LoadMachine("pu:" + std::to_string(workers)).value();
  const auto result = Simulate({.policy = policy,
                                .run_queue_units = run_queue_units,
                                .decision_us = decision_ms * 1e3,
                                .cost = {.memory_share = 0, .refill_ms = 0}},
                               machine, workload);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  return result.value();
}

TEST(DecisionTimeTest, AUnitBeginsThatMuchLater) {
  const SimResult result = RunDeciding("fifo", 1, 1, UnitsAt({0, 100}));
  EXPECT_DOUBLE_EQ(result.makespan_ms, 111);
  EXPECT_DOUBLE_EQ(result.mean_wait_ms, 1);
  EXPECT_DOUBLE_EQ(result.max_latency_ms, 11);
  EXPECT_DOUBLE_EQ(result.utilisation, 20.0 / 111) << "the worker is idle meanwhile";
  EXPECT_DOUBLE_EQ(result.idle_waiting_share, 2.0 / 111);
  EXPECT_DOUBLE_EQ(result.idle_waiting_longest_ms, 1);
}

TEST(DecisionTimeTest, NoneIsTheDefaultAndTakesNone) {
  EXPECT_EQ(SimulationParams{}.decision_us, 0);
  const SimResult result = RunDeciding("fifo", 1, 0, UnitsAt({0, 0, 0}));
  EXPECT_DOUBLE_EQ(result.makespan_ms, 30);
  EXPECT_DOUBLE_EQ(result.idle_waiting_share, 0);
}

// Four idle workers, four units at once: given at 2, 4, 6 and 8 ms.
TEST(DecisionTimeTest, OneUnitIsDecidedAfterTheOther) {
  const SimResult result = RunDeciding("fifo", 4, 2, UnitsAt({0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(result.makespan_ms, 18);
  EXPECT_DOUBLE_EQ(result.mean_wait_ms, (2 + 4 + 6 + 8) / 4.0);
}

// a: given at 12, done at 22. b: 24, 34. c waits for a's worker, for which there is time once b is
// given: 36, 46. d for b's: 48, 58.
TEST(DecisionTimeTest, WhatHappensWhileADecisionIsMadeWaitsInLine) {
  const SimResult result = RunDeciding("fifo", 2, 12, UnitsAt({0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(result.makespan_ms, 58);
  EXPECT_DOUBLE_EQ(result.mean_latency_ms, (22 + 34 + 46 + 58) / 4.0);
}

TEST(DecisionTimeTest, TheDispatcherBoundsTheThroughput) {
  for (const int workers : {8, 16, 64}) {
    const SimResult result =
        RunDeciding("fifo", workers, 5, UnitsAt(std::vector<double>(200, 0.0)));
    EXPECT_DOUBLE_EQ(result.makespan_ms, 200 * 5 + 10) << workers;
  }
}

// Late binding waits for each decision; a unit that is in the run queue already begins at once.
TEST(DecisionTimeTest, ARunQueueHidesDecisions) {
  const Workload three = UnitsAt({0, 0, 0});
  EXPECT_DOUBLE_EQ(RunDeciding("fifo", 1, 1, three).makespan_ms, 3 * (1 + 10));
  EXPECT_DOUBLE_EQ(RunDeciding("rr", 1, 1, three).makespan_ms, 1 + 3 * 10);
  EXPECT_DOUBLE_EQ(RunDeciding("rr", 1, 1, three, 1).makespan_ms, 3 * (1 + 10));
}

// The choice is made when the dispatcher gets to it. The first unit is given at 15 and done at 25;
// the second came at 12, so its worker is chosen at 15, when worker 0 has the first.
TEST(DecisionTimeTest, TheChoiceSeesThePoolOfItsTime) {
  const SimResult result = RunDeciding("conn", 2, 15, UnitsAt({0, 12}));
  EXPECT_DOUBLE_EQ(result.makespan_ms, 40);
  EXPECT_DOUBLE_EQ(result.imbalance, 0) << "each has one";
}

TEST(DecisionTimeTest, UnderClosedArrivalsTheNextUnitComesAtTheEndOfARun) {
  Workload workload = UnitsAt({0});
  workload.feed = Feed::kClosed;
  workload.window = 1;
  workload.streams[0].unit_count = 5;
  workload.units.resize(5, workload.units[0]);
  EXPECT_DOUBLE_EQ(RunDeciding("fifo", 2, 0.5, workload).makespan_ms, 5 * 10.5);
}

TEST(DecisionTimeTest, EveryPolicyDoesAllTheWork) {
  Experiment experiment;
  experiment.topology = "e5335";
  experiment.streams = 10;
  experiment.gops = 10;
  experiment.classes = "live:5,vod:3,batch:1";
  experiment.decision_us = 3000;
  const PreparedExperiment prepared = Prepare(experiment).value();
  const std::vector<std::string> policies = ParsePolicyNames("all").value();
  for (const std::string& policy : policies) {
    SimulationParams params = prepared.params;
    params.policy = policy;
    const auto result = Simulate(params, prepared.machine, prepared.workload);
    ASSERT_TRUE(result.ok()) << policy << ": " << result.error().ToString();
    EXPECT_EQ(result->units, 100U) << policy;
    EXPECT_GE(result->makespan_ms, 100 * 3) << policy;
  }
}

TEST(DecisionTimeTest, IsAParameterOfTheReport) {
  Experiment experiment;
  ASSERT_TRUE(SetParam(experiment, "decision-us", "0.57").ok());
  EXPECT_EQ(Prepare(experiment)->params.decision_us, 0.57);
  const GridRun run{.policy = "fifo", .result = SimResult{}, .error = {}};
  EXPECT_THAT(JsonText({}, {{.experiment = experiment, .settings = {}}}, {run}),
              HasSubstr("\"decision_us\": 0.57"));
  EXPECT_THAT(JsonText({}, {{.experiment = {}, .settings = {}}}, {run}),
              HasSubstr("\"decision_us\": 0.0"));
}

TEST(DecisionTimeTest, WhatIsNoTimeIsRefused) {
  Experiment experiment;
  for (const char* wrong : {"", "x", "-1", "nan", "inf", "1000001", "1us", "0x1"}) {
    const Status set = SetParam(experiment, "decision-us", wrong);
    ASSERT_FALSE(set.ok()) << wrong;
    EXPECT_EQ(set.error().parameter, "decision-us");
    EXPECT_EQ(set.error().accepted, "0 to 1000000");
  }
  EXPECT_FALSE(IsGiven(experiment, "decision-us"));
  SimulationParams params;
  for (const double wrong : {-1.0, 1e7, std::nan(""), std::numeric_limits<double>::infinity()}) {
    params.decision_us = wrong;
    const auto refused = Simulate(params, LoadMachine("pu:1").value(), UnitsAt({0}));
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().parameter, "decision-us");
  }
}

}  // namespace
}  // namespace gopmill::sim
