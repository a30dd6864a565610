// SPDX-License-Identifier: Apache-2.0
#include "server/bench/comparison.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Runs = std::function<RunRecord(const std::string& policy, int call)>;

Comparison CompareWith(const std::vector<std::string>& policies, int repeats, const Runs& runs) {
  int calls = 0;
  const RunPolicy run = [&](const std::string& policy, bool) -> Result<RunRecord> {
    return runs(policy, calls++);
  };
  return Compare({.policies = policies, .repeats = repeats}, run,
                 [](const FinishedRun&, int, int) {})
      .value();
}

TEST(CompareTest, InterleavesAndKeepsTheUnitsOfTheFirstRound) {
  const Comparison comparison = CompareWith(
      {"rr", "sm"}, 2, [](const std::string& policy, int) { return test::SampleRun(policy, 0); });
  std::vector<std::string> order;
  for (const FinishedRun& run : comparison.runs) order.push_back(run.record.policy);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 2), UnorderedElementsAre("rr", "sm"));
  EXPECT_THAT(std::vector(order.rbegin(), order.rbegin() + 2),
              ElementsAreArray(order.begin(), order.begin() + 2))
      << "balanced";
  EXPECT_EQ(comparison.runs[1].record.units.size(), 4U);
  EXPECT_THAT(comparison.runs[2].record.units, IsEmpty());
  EXPECT_THAT(Violations(comparison), IsEmpty());
}

TEST(CompareTest, AFailedRunEndsIt) {
  const RunPolicy run = [](const std::string&, bool) -> Result<RunRecord> {
    return InternalError("no");
  };
  EXPECT_FALSE(Compare({.policies = {"rr"}}, run, [](const FinishedRun&, int, int) {}).ok());
}

TEST(CompareTest, RunsToWarmUpCountNowhere) {
  std::vector<std::string> order, told;
  const RunPolicy run = [&order](const std::string& policy, bool counted) {
    order.push_back(counted ? policy : "(" + policy + ")");
    return test::SampleRun(policy, 0);
  };
  const OnRun on_run = [&told](const FinishedRun& finished, int done, int all) {
    told.push_back(finished.record.policy + std::to_string(done) + "/" + std::to_string(all));
  };
  const ComparisonPlan plan{.policies = {"rr", "sm"}, .repeats = 1, .warm_ups = 3, .seed = 4};
  const Comparison comparison = Compare(plan, run, on_run).value();
  ASSERT_EQ(order.size(), 5U);
  const std::string first = order[3], last = order[4];
  EXPECT_THAT(order,
              ElementsAre("(" + last + ")", "(" + first + ")", "(" + last + ")", first, last));
  EXPECT_THAT(told,
              ElementsAre(last + "0/2", first + "0/2", last + "0/2", first + "1/2", last + "2/2"));
  EXPECT_EQ(comparison.runs.size(), 2U);
}

TEST(ViolationsTest, DifferentOutputNamesStreamAndPolicies) {
  const Comparison comparison =
      CompareWith({"rr", "sm"}, 2, [](const std::string& policy, int call) {
        RunRecord run = test::SampleRun(policy, 0);
        if (call == 2) run.streams[1].hash ^= 1;
        return run;
      });
  EXPECT_THAT(Violations(comparison),
              ElementsAre(AllOf(HasSubstr("Stream 2"), HasSubstr("sm (repeat 2)"),
                                HasSubstr("rr (repeat 1)"))));
}

// One unit waits for 9 ms although worker 1 is idle.
RunRecord LazyRun(const std::string& policy, std::optional<double> others_s) {
  RunRecord run = test::SampleRun(policy, 0);
  run.units = {test::Unit(1, 0, 0, 0, 10), test::Unit(1, 1, 0, 10, 20)};
  run.units[1].life.report.submitted = test::At(1);
  run.units[1].life.report.assigned = test::At(1);
  run.others_s = others_s;
  return run;
}

TEST(ViolationsTest, OnlyPoliciesThatPromiseWorkConservationFail) {
  const auto runs = [](const std::string& policy, int) { return LazyRun(policy, 0); };
  EXPECT_THAT(Violations(CompareWith({"rr", "fifo"}, 1, runs)),
              ElementsAre(AllOf(HasSubstr("fifo (repeat 1)"), HasSubstr("longest 9.00 ms"))));
}

// Their printed form binds units to workers.
TEST(ViolationsTest, SharesOfOneLevelPromiseNothing) {
  const auto runs = [](const std::string& policy, int) { return LazyRun(policy, 0); };
  Comparison comparison = CompareWith({"ps-hrw", "fifo"}, 1, runs);
  EXPECT_THAT(Violations(comparison), SizeIs(2));
  comparison.plan.rules.share = ShareRule::kOneLevel;
  EXPECT_THAT(Violations(comparison), ElementsAre(HasSubstr("fifo (repeat 1)")));
}

TEST(ViolationsTest, ABusyMachineIsNotThePolicysFault) {
  const auto runs = [](const std::string& policy, int) { return LazyRun(policy, 0.5); };
  EXPECT_THAT(Violations(CompareWith({"fifo"}, 1, runs)), IsEmpty());
}

TEST(ViolationsTest, NobodyIsBlamedWhereItIsNotKnownWhatOthersTook) {
  const auto runs = [](const std::string& policy, int) { return LazyRun(policy, std::nullopt); };
  EXPECT_THAT(Violations(CompareWith({"fifo"}, 1, runs)), IsEmpty());
}

std::size_t IndexOf(std::string_view measure) {
  const auto docs = MeasureDocs();
  return static_cast<std::size_t>(std::ranges::find(docs, measure, &MeasureDoc::name) -
                                  docs.begin());
}
std::optional<Interval> RatioOf(const PolicySummary& summary, std::string_view measure) {
  return summary.ratios.at(IndexOf(measure));
}
std::optional<Interval> DifferenceOf(const PolicySummary& summary, std::string_view measure) {
  return summary.differences.at(IndexOf(measure));
}

auto Between(double low, double high) {
  return Optional(
      AllOf(Field(&Interval::low, DoubleEq(low)), Field(&Interval::high, DoubleEq(high))));
}

TEST(SummariseTest, RatiosArePairedByRound) {
  const auto runs = [](const std::string& policy, int call) {
    RunRecord run = test::SampleRun(policy, 0);
    // Round 0 is twice as slow for both; rr always takes 10/8 of fifo's time.
    const double wall = (policy == "rr" ? 10 : 8) * (call < 2 ? 2 : 1);
    run.end = test::At(wall);
    return run;
  };
  const Comparison comparison = CompareWith({"rr", "fifo"}, 2, runs);
  const auto summaries = Summarise(comparison, "fifo");
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_THAT(RatioOf(summaries[0], "gops_per_s"), Between(0.8, 0.8));
  EXPECT_THAT(RatioOf(summaries[0], "wall_s"), Between(1.25, 1.25));
  EXPECT_THAT(RatioOf(summaries[1], "gops_per_s"), Between(1, 1));
  EXPECT_THAT(RatioOf(summaries[0], "deadline_misses"), Eq(std::nullopt)) << "there are none";
}

// fifo is perfect in one round of three, and rr never is: without that round rr would seem equal.
TEST(SummariseTest, ARoundInWhichTheBaselineIsPerfectIsNotLeftOut) {
  const auto runs = [](const std::string& policy, int call) {
    RunRecord run = test::SampleRun(policy, 0);
    const bool perfect = policy == "fifo" && call >= 4;
    for (UnitSample& unit : run.units) unit.life.spec.deadline = test::At(100);
    if (!perfect) run.units[2].life.spec.deadline = test::At(1);
    run.usage.minor_faults = perfect ? 0 : 10;
    return run;
  };
  const auto summaries = Summarise(CompareWith({"rr", "fifo"}, 3, runs), "fifo");
  EXPECT_THAT(RatioOf(summaries[0], "deadline_misses"), Eq(std::nullopt));
  EXPECT_THAT(RatioOf(summaries[0], "minor_faults"), Eq(std::nullopt));
  EXPECT_THAT(DifferenceOf(summaries[0], "deadline_misses"), Between(0, 0.25));
  EXPECT_THAT(DifferenceOf(summaries[0], "minor_faults"), Between(0, 10));
  EXPECT_EQ(DifferenceOf(summaries[0], "deadline_misses")->values, 3);
}

TEST(SummariseTest, AnIntervalSaysOfHowManyRoundsItIs) {
  const auto runs = [](const std::string& policy, int call) {
    RunRecord run = test::SampleRun(policy, 0);
    // In the last round nothing is out of order, so there is no extent.
    if (call >= 4) run.units.resize(2);
    return run;
  };
  const auto summaries = Summarise(CompareWith({"rr", "fifo"}, 3, runs), "fifo");
  const auto extent = RatioOf(summaries[0], "extent_mean");
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->values, 2);
  EXPECT_DOUBLE_EQ(extent->coverage, 0.5);
  EXPECT_DOUBLE_EQ(RatioOf(summaries[0], "gops_per_s")->coverage, 0.75);
}

// Rounds of 20 and 40 ms, worker 0 always busy: the mean of both is 1, not 30 ms of some median.
TEST(SummariseTest, UtilisationOfAWorkerIsOfItsOwnRun) {
  const auto runs = [](const std::string& policy, int call) {
    RunRecord run = test::SampleRun(policy, 0);
    run.units = {test::Unit(1, 0, 0, 0, call == 0 ? 20 : 40)};
    run.end = test::At(call == 0 ? 20 : 40);
    return run;
  };
  const auto summaries = Summarise(CompareWith({"rr"}, 2, runs), "rr");
  EXPECT_DOUBLE_EQ(summaries[0].cores[0].utilisation, 1);
  EXPECT_DOUBLE_EQ(summaries[0].cores[1].utilisation, 0);
}

TEST(SummariseTest, TheBaselineCanBeAskedFor) {
  const std::vector<std::string> policies = {"rr", "fifo", "sm"};
  EXPECT_EQ(*ChooseBaseline(policies), "fifo");
  EXPECT_EQ(*ChooseBaseline(policies, "sm"), "sm");
  EXPECT_EQ(*ChooseBaseline({"sm", "rr"}), "sm");
  const auto wrong = ChooseBaseline(policies, "hearth");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().parameter, "baseline");
  EXPECT_EQ(wrong.error().accepted, "rr, fifo, sm");
}

}  // namespace
}  // namespace gopmill::bench
