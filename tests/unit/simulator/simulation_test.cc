// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>

#include "scheduler/policy_registry.h"
#include "scheduler/sim/arrivals.h"
#include "scheduler/sim/check.h"
#include "scheduler/sim/experiment.h"
#include "scheduler/sim/replication.h"
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
    return JsonText({}, {{experiment, {}}}, {{.policy = GetParam(), .result = result}});
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

TEST(SimulationTest, CountsMissesOfTheUnitsThatHaveADeadline) {
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.streams = 1;
  experiment.gops = 50;
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  prepared->params.policy = "fifo";
  prepared->workload.units[10].deadline_ms = 0;
  prepared->workload.units[20].deadline_ms = 1e9;
  prepared->workload.units[30].deadline_ms = 1e9;
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->deadlines, 3U);
  EXPECT_DOUBLE_EQ(result->deadline_misses, 1.0 / 3);
}

TEST(SimulationTest, AClassSaysWhenItsUnitsAreDue) {
  Experiment experiment;
  experiment.topology = "pu:2";
  experiment.gops = 20;
  ASSERT_TRUE(SetParam(experiment, "classes", "a:5:0:0:100,b:1").ok());
  const SimResult hearth = RunPolicy(experiment, "hearth");
  EXPECT_EQ(hearth.deadlines, 200U) << "of the ten streams of a, of twenty";
  EXPECT_GT(hearth.deadline_misses, 0);
  const SimResult fifo = RunPolicy(experiment, "fifo");
  EXPECT_LT(hearth.deadline_misses, fifo.deadline_misses) << "which knows no deadlines";

  experiment.arrivals = "live";
  EXPECT_EQ(RunPolicy(experiment, "fifo").deadlines, 400U);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  const SimUnit& unit = prepared->workload.units.front();
  EXPECT_NEAR(unit.deadline_ms, unit.arrival_ms + 100, 1e-9) << "its class goes first, as in serve";

  prepared->workload.due_by_class = false;
  prepared->params.policy = "fifo";
  for (SimUnit& each : prepared->workload.units) each.deadline_ms = SimUnit{}.deadline_ms;
  EXPECT_EQ(Simulate(prepared->params, prepared->machine, prepared->workload)->deadlines, 0U);
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

// Takes the first ten units and leaves all others waiting.
class Lazy final : public Policy {
 public:
  explicit Lazy(HashKind hash) : Policy(hash) {}
  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto* const arrived = std::get_if<Arrived>(&event);
    if (arrived == nullptr) return;
    const WorkerId worker = pool.LongestIdle();
    if (worker.value >= 0 && done_++ < 10) {
      actions.Add(Assign{arrived->unit, worker});
    } else {
      actions.Add(Hold{arrived->unit, WorkerId{}});
    }
  }

 private:
  int done_ = 0;
};

TEST(SimulationTest, ARunThatStopsShortIsNoResult) {
  Experiment experiment;
  experiment.topology = "pu:2";
  experiment.arrivals = "poisson";
  experiment.load = 0.01;
  experiment.streams = 60;
  experiment.gops = 1;
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  prepared->params.make_policy = [](const PolicyOptions& options, const PoolState&) {
    return Result<std::unique_ptr<Policy>>(std::make_unique<Lazy>(options.hash));
  };
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "50 of 60 units were never run: they wait and nobody works.");

  const std::vector<GridPoint> points = {{.experiment = experiment, .settings = {}}};
  const std::string csv =
      CsvText(points, {{.policy = "lazy", .result = std::nullopt, .error = result.error()}});
  EXPECT_THAT(csv, ::testing::HasSubstr("\nlazy,,,,"));
  EXPECT_THAT(csv,
              ::testing::EndsWith(",50 of 60 units were never run: they wait and nobody works.\n"));
}

TEST(SimulationTest, WhatCannotBeSimulatedIsRefused) {
  auto prepared = Prepare({});
  ASSERT_TRUE(prepared.ok());
  SimulationParams params = prepared->params;
  params.policy = "no-such";
  EXPECT_FALSE(Simulate(params, prepared->machine, prepared->workload).ok());
  params.policy = "fifo";
  // More workers than PUs would be CPUs that do not exist.
  for (const int workers : {-1, prepared->machine.topology.pu_count() + 1}) {
    params.workers = workers;
    const auto refused = Simulate(params, prepared->machine, prepared->workload);
    ASSERT_FALSE(refused.ok()) << workers;
    EXPECT_EQ(refused.error().parameter, "workers");
    EXPECT_EQ(refused.error().accepted, "0 (one per PU) to 192");
  }
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
    EXPECT_EQ(total, 12U);
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

// Points with so many seeds each, and the runs of two policies on them.
struct SeededRuns {
  std::vector<GridPoint> points;
  std::vector<GridRun> runs;

  // A point; `mine` against a rival of 100 units per second and 10 ms.
  void Add(const std::vector<SimResult>& mine) {
    const std::string name = std::to_string(points.size());
    for (const SimResult& result : mine) {
      runs.push_back({.point = points.size(), .policy = "mine", .result = result});
      runs.push_back({.point = points.size(), .policy = "rival", .result = With(100, 10)});
      GridPoint& point = points.emplace_back();
      point.settings = {{"point", name}, {"seed", std::to_string(points.size())}};
    }
  }
};

TEST(CheckTest, CountsWhatIsReachedAndWhatIsWorse) {
  SeededRuns seeded;
  seeded.Add({With(110, 10), With(112, 10)});      // more throughput
  seeded.Add({With(100, 6.8), With(100, 7)});      // less latency
  seeded.Add({With(105, 8), With(105, 8)});        // neither by enough
  seeded.Add({With(120, 10.2), With(120, 10.2)});  // one bought with the other
  const CheckSummary summary = SummariseCheck(seeded.points, seeded.runs, {});
  EXPECT_EQ(summary.points, 4U);
  EXPECT_EQ(summary.reached, 3U);
  EXPECT_EQ(summary.worse, 1U);
  EXPECT_NEAR(summary.worst_throughput, 1, 1e-9);
  EXPECT_NEAR(summary.worst_p99, 1.02, 1e-9);
}

TEST(CheckTest, OneSeedDecidesNothing) {
  SeededRuns seeded;
  // Worse with one seed of three: so might the rival be with another.
  seeded.Add({With(90, 10), With(101, 10), With(100, 10)});
  // A little worse with all of them.
  seeded.Add({With(97, 10), With(98, 10), With(97.5, 10)});
  // The goal with one seed, and not in the mean.
  seeded.Add({With(112, 10), With(101, 10), With(100, 10)});
  const CheckSummary summary = SummariseCheck(seeded.points, seeded.runs, {});
  EXPECT_EQ(summary.points, 3U);
  EXPECT_EQ(summary.worse, 1U) << summary.text;
  EXPECT_EQ(summary.reached, 0U) << summary.text;
  EXPECT_NE(summary.text.find("0.975 ±0.012"), std::string::npos) << summary.text;
  EXPECT_NE(summary.text.find("all "), std::string::npos) << summary.text;
}

TEST(CheckTest, RunsSeedsThatNothingWasTunedOn) {
  const std::vector<GridPoint> points = WithSeeds({GridPoint{}, GridPoint{}}, 1001, 3);
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[0].experiment.seed, 1001U);
  EXPECT_EQ(points[5].experiment.seed, 1003U);
  EXPECT_EQ(points[5].settings[0].second, "1003");
}

TEST(ReplicationTest, IntervalsAreStudents) {
  const double values[] = {1, 2, 3, 4};
  const Estimate estimate = Estimated(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 2.5);
  EXPECT_NEAR(estimate.half_width, 3.182 * 1.29099 / 2, 1e-3);
  EXPECT_TRUE(std::isinf(Estimated(std::span(values, 1)).half_width));
  EXPECT_NEAR(StudentQuantile(10), 2.228, 1e-3);
  EXPECT_NEAR(StudentQuantile(30), 2.042, 1e-3);
  EXPECT_NEAR(StudentQuantile(1000), 1.962, 1e-3);
}

std::string OneDigit(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << value;
  return text.str();
}

TEST(ReportTest, SeedsMakeOneTableOfMeans) {
  Experiment base;
  base.topology = "pu:2";
  base.gops = 5;
  const auto grid =
      MakeGrid(base, {ParseSweep("contexts=1,4").value(), ParseSweep("seed=1:3:1").value()});
  ASSERT_TRUE(grid.ok());
  const auto runs = RunGrid(*grid, {"fifo", "hrw"}, 1, {});
  ASSERT_TRUE(runs.ok());
  const std::string table = TableText(*grid, *runs);
  EXPECT_NE(table.find("contexts 1, 3 seeds"), std::string::npos) << table;
  EXPECT_NE(table.find("contexts 4, 3 seeds"), std::string::npos) << table;
  EXPECT_EQ(table.find("seed 1"), std::string::npos) << table;
  double sum = 0;
  for (std::size_t point = 0; point < 3; ++point) {
    sum += runs->at(2 * point).result->gops_per_second;
  }
  EXPECT_NE(table.find("GOPs/s      " + OneDigit(sum / 3) + " ±"), std::string::npos) << table;
  EXPECT_EQ(std::ranges::count(CsvText(*grid, *runs), '\n'), 13) << "each run by itself";
}

// The JSON of a grid of one policy, two points.
std::string JsonOf(const Experiment& base, const std::string& sweep) {
  const auto grid = MakeGrid(base, {ParseSweep(sweep).value()});
  EXPECT_TRUE(grid.ok());
  const auto runs = RunGrid(*grid, {"fifo"}, 1, {});
  EXPECT_TRUE(runs.ok());
  const ReportOrigin origin{
      .version = "7.1", .command = "gopmill simulate --x", .check = {}, .against = {}};
  return JsonText(origin, *grid, *runs);
}

TEST(ReportTest, JsonNamesTheExperiment) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Not;
  Experiment base;
  base.topology = "pu:2";
  base.gops = 2;
  base.rules = "hash=printed";
  EXPECT_THAT(
      JsonOf(base, "contexts=1,2"),
      AllOf(HasSubstr("\"version\": \"7.1\""), HasSubstr("\"command\": \"gopmill simulate --x\""),
            HasSubstr("\"scheduler_options\": \"hash=printed\""), HasSubstr("\"streams\": 20,"),
            HasSubstr("\"arrivals\": \"closed\""), HasSubstr("\"window\": \"workers + 1\""),
            HasSubstr("\"workers\": \"one per PU\""), HasSubstr("\"share_window_ms\": 10000.0"),
            HasSubstr("\"mean_extent\": \"reordering extent"),
            HasSubstr("\"point\": {\n        \"contexts\": \"1\"")));
  // What nobody looks at is left out, what was swept is with the runs.
  EXPECT_THAT(
      JsonOf(base, "contexts=1,2"),
      AllOf(Not(HasSubstr("\"noise\"")), Not(HasSubstr("\"load\"")), Not(HasSubstr("\"trace\"")),
            Not(HasSubstr("\"means\"")), Not(HasSubstr("\n  \"contexts\""))));
  EXPECT_THAT(JsonOf(base, "seed=1,2"), AllOf(HasSubstr("\"means\""), HasSubstr("half_width_95"),
                                              Not(HasSubstr("\n  \"seed\""))));
}

TEST(CheckTest, CoversTheWholeField) {
  const std::vector<GridPoint> points = CheckGrid({});
  EXPECT_EQ(points.size(), 4U * 4 * 3 * 5);
  for (const GridPoint& point : points) EXPECT_TRUE(LoadMachine(point.experiment.topology).ok());
}

TEST(GridTest, CanBeStopped) {
  Experiment base;
  base.topology = "pu:2";
  base.gops = 5;
  auto points = MakeGrid(base, {ParseSweep("contexts=1,2,4").value()}).value();
  std::stop_source stop;
  const auto stop_after_three = [&](std::size_t done, std::size_t) {
    if (done == 3) stop.request_stop();
  };
  auto runs = RunGrid(points, {"fifo", "rr"}, 1, stop_after_three, stop.get_token());
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 6U);
  EXPECT_TRUE(runs->at(2).result);
  EXPECT_EQ(runs->at(3).error.code, Code::kCancelled);
  KeepComplete(points, *runs);
  ASSERT_EQ(points.size(), 1U) << "rr has not run at the second one";
  EXPECT_EQ(points[0].settings[0].second, "1");
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_TRUE(runs->at(1).result);
}

TEST(GridTest, ARunThatWasStoppedInTheMiddleHasNoResult) {
  Experiment base;
  base.topology = "pu:2";
  auto prepared = Prepare(base);
  ASSERT_TRUE(prepared.ok());
  std::stop_source stop;
  stop.request_stop();
  prepared->params.stop = stop.get_token();
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace gopmill::sim
