// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/outages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/policy_registry.h"
#include "scheduler/sim/experiment.h"

namespace gopmill::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MATCHER_P3(Change, at_ms, worker, available, "") {
  return arg.at_ms == at_ms && arg.worker == worker && arg.available == available;
}

TEST(OutagesTest, AreWorkersAndTheirTimes) {
  EXPECT_TRUE(ParseOutages("")->empty());
  EXPECT_THAT(*ParseOutages("3@2.5:6,0@4"),
              ElementsAre(Change(2500, 3, false), Change(4000, 0, false), Change(6000, 3, true)));
  // Whoever comes back is there before another one goes.
  EXPECT_THAT(*ParseOutages("1@2:3,0@1:2"),
              ElementsAre(Change(1000, 0, false), Change(2000, 0, true), Change(2000, 1, false),
                          Change(3000, 1, true)));
  EXPECT_EQ(ParseOutages("1@2:3,1@3:4")->size(), 4U);
}

TEST(OutagesTest, ThatAreNoneAreAnErrorThatSaysWhatWouldBeRight) {
  for (const char* bad : {",",
                          "3",
                          "@",
                          "3@",
                          "@1",
                          "a@1",
                          "-1@1",
                          "3@-1",
                          "3@-0",
                          "3@nan",
                          "3@inf",
                          "3@1e9",
                          "3@1:",
                          "3@2:2",
                          "3@2:1",
                          "3@1:2:3",
                          "3@1x",
                          "3@ 1",
                          "99999999999@1",
                          "1@1,",
                          "1@1:3,1@2:4",
                          "1@1,1@5",
                          "1@1,1@1"}) {
    const auto changes = ParseOutages(bad);
    ASSERT_FALSE(changes.ok()) << bad;
    EXPECT_EQ(changes.error().parameter, "outages") << bad;
    EXPECT_THAT(changes.error().accepted, HasSubstr("WORKER@FROM:TO")) << bad;
  }
  std::string many = "0@0:1";
  for (int i = 1; i <= 10'000; ++i) many += fmt::format(",0@{}:{}", 2 * i, 2 * i + 1);
  EXPECT_FALSE(ParseOutages(many).ok());
}

TEST(OutagesTest, LeaveAWorkerInTheEnd) {
  EXPECT_TRUE(CheckOutages(*ParseOutages("0@1:3,1@1:2"), 2).ok());  // none for a while
  EXPECT_TRUE(CheckOutages(*ParseOutages("0@1,1@1:2"), 2).ok());
  EXPECT_FALSE(CheckOutages(*ParseOutages("0@1,1@5"), 2).ok());
  const Status unknown = CheckOutages(*ParseOutages("2@1:2"), 2);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().accepted, "0 to 1");
}

Experiment Small(const std::string& outages) {
  Experiment experiment;
  experiment.topology = "e5335";
  experiment.streams = 12;
  experiment.gops = 40;
  experiment.outages = outages;
  return experiment;
}

Result<SimResult> RunOutages(const Experiment& experiment, const std::string& policy) {
  GOPMILL_ASSIGN_OR_RETURN(PreparedExperiment prepared, Prepare(experiment));
  prepared.params.policy = policy;
  return Simulate(prepared.params, prepared.machine, prepared.workload);
}

class OutagesOfEveryPolicyTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OutagesOfEveryPolicyTest, LeaveNoUnitBehind) {
  for (const char* arrivals : {"closed", "poisson"}) {
    Experiment experiment = Small("0@0,3@0.1:0.4,4@0.1:0.2,4@0.3:0.5,7@0.2");
    experiment.arrivals = arrivals;
    const auto result = RunOutages(experiment, GetParam());
    ASSERT_TRUE(result.ok()) << result.error().ToString();
    EXPECT_EQ(result->units, 480U);
    EXPECT_EQ(result->worker_utilisation[0], 0) << "out from the beginning";
    EXPECT_LT(result->worker_utilisation[7] * result->makespan_ms, 600) << "out from 0.2 s on";
    EXPECT_LE(result->utilisation, 1 + 1e-9);
  }
}

TEST_P(OutagesOfEveryPolicyTest, OfAllWorkersMakeUnitsWait) {
  std::string all;
  for (int worker = 0; worker < 8; ++worker)
    all += fmt::format("{}{}@0.1:9", worker ? "," : "", worker);
  const auto result = RunOutages(Small(all), GetParam());
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result->units, 480U);
  EXPECT_GT(result->makespan_ms, 9000);
  const auto none = RunOutages(Small(""), GetParam());
  ASSERT_TRUE(none.ok());
  // At worst one of them does what is left: to conn, who comes back first is the only one there.
  EXPECT_LT(result->makespan_ms, 9000 + 8 * none->makespan_ms);
}

INSTANTIATE_TEST_SUITE_P(Registry, OutagesOfEveryPolicyTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const PolicyEntry& entry : Policies())
                             names.emplace_back(entry.name);
                           return names;
                         }()),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(OutagesTest, LeaveNobodyIdleWhoIsThereUnderASharedQueue) {
  for (const char* policy : {"fifo", "hearth", "ps-hrw"}) {
    const auto result = RunOutages(Small("0@0.1:0.3,5@0.2"), policy);
    ASSERT_TRUE(result.ok()) << policy;
    EXPECT_LT(result->idle_waiting_share, 1e-9) << policy;
    EXPECT_LT(result->idle_waiting_longest_ms, 1e-6) << policy;
  }
}

TEST(OutagesTest, BehindTheLastUnitAreNotLookedAt) {
  const auto without = RunOutages(Small(""), "fifo");
  const auto behind = RunOutages(Small("0@1000:2000"), "fifo");
  ASSERT_TRUE(without.ok() && behind.ok());
  EXPECT_EQ(without->makespan_ms, behind->makespan_ms);
  EXPECT_EQ(without->utilisation, behind->utilisation);
}

// What is measured begins with the first arrival.
TEST(OutagesTest, BeforeTheFirstUnitTakeNothingOfTheMachine) {
  const auto run = [](const char* outages, double first_ms) {
    Experiment experiment = Small(outages);
    experiment.topology = "pu:2";
    experiment.arrivals = "poisson";
    auto prepared = Prepare(experiment).value();
    prepared.params.policy = "fifo";
    auto& units = prepared.workload.units;
    const double begin_ms = std::ranges::min(units, {}, &SimUnit::arrival_ms).arrival_ms;
    for (SimUnit& unit : units) unit.arrival_ms += first_ms - begin_ms;
    return Simulate(prepared.params, prepared.machine, prepared.workload).value();
  };
  const SimResult late = run("0@0", 10'000);
  EXPECT_LE(late.utilisation, 1);
  EXPECT_NEAR(late.utilisation, run("0@0", 0).utilisation, 1e-6);
  EXPECT_NEAR(run("0@0:9", 10'000).utilisation, run("", 0).utilisation, 1e-6);
}

// Half the machine is half as fast.
TEST(OutagesTest, TakeTheirPartOfTheMachine) {
  Experiment experiment = Small("");
  experiment.topology = "pu:8";  // nothing is nearer in half of it
  experiment.gops = 1000;
  const auto whole = RunOutages(experiment, "fifo");
  experiment.outages = "0@0,1@0,2@0,3@0";
  const auto half = RunOutages(experiment, "fifo");
  ASSERT_TRUE(whole.ok() && half.ok());
  EXPECT_NEAR(half->makespan_ms / whole->makespan_ms, 2, 0.1);
  EXPECT_NEAR(half->utilisation, whole->utilisation, 0.05);
  EXPECT_NEAR(half->mean_service_ms, whole->mean_service_ms, 0.05 * whole->mean_service_ms);
}

}  // namespace
}  // namespace gopmill::sim
