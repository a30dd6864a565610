// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "scheduler/sim/arrivals.h"
#include "scheduler/sim/l7_workload.h"
#include "scheduler/sim/random.h"
#include "scheduler/sim/sweep.h"
#include "scheduler/sim/trace_line.h"
#include "scheduler/sim/trace_workload.h"
#include "scheduler/sim/transcode_workload.h"

namespace gopmill::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Refusal(const std::string& name, const std::string& value) {
  Experiment experiment;
  const Status set = SetParam(experiment, name, value);
  if (!set.ok()) return set.error().ToString();
  const auto prepared = Prepare(experiment);
  return prepared.ok() ? "accepted" : prepared.error().ToString();
}

TEST(ExperimentTest, EveryParameterHasALimit) {
  for (const ExperimentParam& param : ExperimentParams()) {
    if (!param.sweepable) continue;
    for (const char* bad : {"", "x", "nan", "inf", "-1", "1e300", "0x10", "1 ", "99999999999"}) {
      EXPECT_THAT(Refusal(std::string(param.name), bad), HasSubstr(std::string(param.name)))
          << param.name << "=" << bad;
    }
  }
  EXPECT_THAT(Refusal("streams", "2.5"), HasSubstr("2.5"));
  EXPECT_THAT(Refusal("no-such", "1"), HasSubstr("no such parameter"));
}

TEST(ExperimentTest, SaysWhatParametersAreUnlessGiven) {
  EXPECT_EQ(DefaultOf("topology"), "chiplet");
  EXPECT_EQ(DefaultOf("contexts"), "4");
  EXPECT_EQ(DefaultOf("share-window-ms"), "10000");
  EXPECT_EQ(DefaultOf("spread"), "0.35");
  for (const char* name : {"streams", "workers", "mix", "switch-ms"}) {
    EXPECT_EQ(DefaultOf(name), "") << name;
  }
}

TEST(ExperimentTest, ConnectionsHaveNoCacheToReadAgainUnlessGiven) {
  Experiment experiment;
  EXPECT_EQ(Prepare(experiment)->params.cost.refill_ms, 0.2);
  experiment.workload = "l7";
  experiment.streams = 10;
  EXPECT_EQ(Prepare(experiment)->params.cost.refill_ms, 0);
  EXPECT_EQ(std::get<double>(ValueOf(experiment, "refill-ms")), 0);
  ASSERT_TRUE(SetParam(experiment, "refill-ms", "0.1").ok());
  EXPECT_EQ(Prepare(experiment)->params.cost.refill_ms, 0.1);
}

// As everywhere on the command line: 010 is ten.
TEST(ExperimentTest, WholeNumbersAreDigitsOfDecimals) {
  Experiment experiment;
  for (const char* name :
       {"streams", "concurrent", "gops", "workers", "queue", "window", "contexts"}) {
    EXPECT_TRUE(SetParam(experiment, name, "010").ok()) << name;
    for (const char* bad : {"1e1", "4.0", "4.", "0x10", "-0", "+5", " 5", "2.5", ""}) {
      EXPECT_THAT(Refusal(name, bad),
                  AllOf(HasSubstr(std::string("\"") + bad + "\" is not a whole number."),
                        HasSubstr(std::string("parameter: ") + name)));
    }
    EXPECT_THAT(Refusal(name, "99999999999999"), Not(HasSubstr("is not a whole number"))) << name;
  }
  EXPECT_EQ(experiment.workers, 10);
  EXPECT_EQ(experiment.gops, 10);
}

TEST(ExperimentTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(Refusal("workload", "mine"), HasSubstr("transcode, l7 or trace"));
  EXPECT_THAT(Refusal("workload", "trace"), HasSubstr("--trace"));
  EXPECT_THAT(Refusal("mix", "spicy"), HasSubstr("reference"));
  for (const char* name : {"topology", "workload", "mix", "arrivals", "classes"}) {
    EXPECT_THAT(Refusal(name, ""), AllOf(HasSubstr(name), HasSubstr("\"\" is not a value")));
  }
  EXPECT_THAT(Refusal("classes", "a:0"), HasSubstr("weight"));
  EXPECT_THAT(Refusal("classes", "a:nan"), HasSubstr("class"));
  EXPECT_THAT(Refusal("gops", "20000000"), HasSubstr("gops"));
}

TEST(ExperimentTest, WhatWouldBeIgnoredIsRefused) {
  EXPECT_THAT(Refusal("scheduler-options", "contexts=4"), HasSubstr("--contexts"));
  EXPECT_THAT(Refusal("scheduler-options", "hash=printed,contexts=4"), HasSubstr("--contexts"));
  Experiment experiment;
  experiment.trace = std::make_shared<const RecordedTrace>();
  ASSERT_FALSE(Prepare(experiment).ok());
  EXPECT_THAT(Prepare(experiment).error().ToString(), HasSubstr("--workload trace"));
}

// A recording of two streams, each of its own class.
std::shared_ptr<const RecordedTrace> SmallTrace() {
  std::string text = TraceHeaderLine({.machine = "m", .unit = "gop"});
  for (const std::uint64_t stream : {1U, 2U}) {
    for (const int i : {0, 1, 2}) {
      text += TraceUnitLine({.arrival_ms = 5.0 * i,
                             .stream = stream,
                             .number = stream - 1,
                             .service_class = stream == 1 ? "live" : "batch",
                             .index = i,
                             .bytes = 9,
                             .hot_ms = 10,
                             .cold_ms = {},
                             .deadline_ms = {}});
    }
  }
  std::istringstream in(text);
  auto trace = ReadTrace(in);
  EXPECT_TRUE(trace.ok());
  return std::make_shared<const RecordedTrace>(std::move(trace).value());
}

using Given = std::vector<std::pair<std::string, std::string>>;

// What a command line with these parameters is told; a trace is there if they ask for one.
std::string RefusalOf(const Given& given) {
  Experiment experiment;
  experiment.topology = "pu:2";
  for (const auto& [name, value] : given) {
    const Status set = SetParam(experiment, name, value);
    if (!set.ok()) return set.error().ToString();
  }
  if (experiment.workload == "trace") experiment.trace = SmallTrace();
  const auto prepared = Prepare(experiment);
  return prepared.ok() ? "accepted" : prepared.error().ToString();
}

TEST(ExperimentTest, WhatTheWorkloadDoesNotReadIsRefused) {
  const struct {
    Given given;
    std::string parameter, accepted;
  } cases[] = {
      {{{"workload", "trace"}, {"streams", "3"}}, "streams", "--workload transcode or l7"},
      {{{"workload", "trace"}, {"mix", "nonsense"}}, "mix", "--workload transcode or l7"},
      {{{"workload", "trace"}, {"gops", "9"}}, "gops", "--workload transcode"},
      {{{"workload", "trace"}, {"spread", "0.5"}}, "spread", "--workload transcode"},
      {{{"workload", "trace"}, {"load", "0.5"}}, "load", "--arrivals poisson"},
      {{{"workload", "trace"}, {"window", "4"}}, "window", "--arrivals closed"},
      {{{"workload", "l7"}, {"classes", "a:1"}}, "classes", "--workload transcode or trace"},
      {{{"workload", "l7"}, {"gops", "7"}}, "gops", "--workload transcode"},
      {{{"workload", "l7"}, {"spread", "2"}}, "spread", "--workload transcode"},
      {{{"workload", "l7"}, {"noise", "0.1"}}, "noise", "--workload trace"},
      {{{"workload", "l7"}, {"concurrent", "3"}}, "concurrent", "--arrivals closed"},
      {{{"noise", "0.1"}}, "noise", "--workload trace"},
      {{{"slow-down", "2"}}, "slow-down", "--workload trace"},
      {{{"load", "0.5"}}, "load", "--arrivals poisson"},
      {{{"arrivals", "poisson"}, {"window", "4"}}, "window", "--arrivals closed"},
      {{{"arrivals", "live"}, {"concurrent", "4"}}, "concurrent", "--arrivals closed"},
      {{{"mix", "live"}, {"load", "0.5"}}, "load", "--arrivals poisson"},
      {{{"mix", "live"}, {"arrivals", "poisson"}}, "arrivals", "--mix reference"},
      {{{"mix", "bursty"}, {"arrivals", "closed"}}, "arrivals", "--mix reference"},
      {{{"mix", "bursty"}, {"concurrent", "4"}}, "concurrent", "--arrivals closed"},
  };
  for (const auto& [given, parameter, accepted] : cases) {
    EXPECT_THAT(RefusalOf(given), AllOf(HasSubstr("parameter: " + parameter),
                                        HasSubstr("accepted: "), HasSubstr(accepted)))
        << parameter;
  }
}

TEST(ExperimentTest, WhatIsReadIsTaken) {
  const Given accepted[] = {
      {{"workload", "trace"}, {"classes", "live:3,batch:1"}, {"noise", "0.2"}, {"slow-down", "2"}},
      {{"workload", "trace"}, {"arrivals", "poisson"}, {"load", "0.5"}},
      {{"workload", "trace"}, {"arrivals", "closed"}, {"window", "4"}, {"concurrent", "1"}},
      {{"workload", "l7"}, {"streams", "30"}, {"load", "0.5"}},
      {{"workload", "l7"}, {"mix", "nyp"}, {"streams", "30"}, {"arrivals", "poisson"}},
      {{"mix", "bursty"}, {"window", "4"}, {"spread", "0"}},
      {{"mix", "live"}, {"streams", "4"}, {"gops", "4"}, {"classes", "a:1,b:2"}},
  };
  for (const Given& given : accepted) EXPECT_EQ(RefusalOf(given), "accepted") << given[0].second;
}

TEST(ExperimentTest, WeightsAreNumbersAboveZeroEverywhere) {
  for (const char* weight : {"0", "-0", "-1", "nan", "inf", "-inf", "1e999", "x", ""}) {
    for (const char* workload : {"transcode", "trace", "l7"}) {
      EXPECT_THAT(
          RefusalOf({{"workload", workload}, {"classes", std::string("live:1,batch:") + weight}}),
          HasSubstr("parameter: classes"))
          << workload << " " << weight;
    }
  }
}

// The median latency of a run, or -1 with these options.
double P50With(const std::string& rules, const std::string& policy = "h-cahrw") {
  Experiment experiment;
  if (!rules.empty()) {
    EXPECT_TRUE(SetParam(experiment, "scheduler-options", rules).ok());
  }
  EXPECT_TRUE(SetParam(experiment, "topology", "e5335").ok());
  EXPECT_TRUE(SetParam(experiment, "gops", "20").ok());
  auto prepared = Prepare(experiment);
  EXPECT_TRUE(prepared.ok());
  prepared->params.policy = policy;
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  return result.ok() ? result->p50_ms : -1;
}

TEST(ExperimentTest, RatiosAreThoseOfTheMachineUnlessOthersAreGiven) {
  const double machine = P50With("");
  EXPECT_EQ(P50With("ratios=e5335"), machine) << "the same ratios";
  EXPECT_GT(P50With("ratios=1/20/40/40/40/1000"), 1.05 * machine) << "moving costs more";
  EXPECT_EQ(P50With("ratios=1/2;2/1"), -1) << "for 2 workers, of 8";
}

TEST(ExperimentTest, MalformedTopologiesAreRefused) {
  for (const char* bad : {"", "pu:0", "pu:-1", "pu:x", "pu:4097", "pu:99999999999999999999",
                          "chiplet:100", "chiplet:5000", "chiplet:", "pack:2 core:3000 pu:1",
                          "nonsense", "/no/such/file.xml", "pack:"}) {
    const std::string refusal = Refusal("topology", bad);
    EXPECT_THAT(refusal, HasSubstr("topology")) << bad;
    EXPECT_THAT(refusal, HasSubstr("accepted:")) << bad;
  }
  for (const TopologyPreset& preset : TopologyPresets()) {
    EXPECT_TRUE(LoadMachine(std::string(preset.name)).ok()) << preset.name;
  }
  EXPECT_EQ(LoadMachine("chiplet")->topology.pu_count(), 192);
  for (int pus = 1; pus <= kMaxPus; pus *= 2) {
    EXPECT_EQ(LoadMachine("chiplet:" + std::to_string(pus))->topology.pu_count(), pus);
  }
}

TEST(ArrivalsTest, MalformedKindsAreRefused) {
  for (const char* bad : {"", "Poisson", "batch", "batch:", "batch:0", "batch:-1", "batch:1001",
                          "batch:2x", "geometric:nan"}) {
    EXPECT_FALSE(ParseArrivals(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseArrivals("geometric:8")->batch, 8);
}

TEST(ArrivalsTest, EveryKindOffersTheLoadThatIsAskedFor) {
  for (const char* kind : {"poisson", "batch:8", "geometric:8", "onoff", "live"}) {
    for (const double load : {0.5, 0.9}) {
      auto workload = MakeTranscodeWorkload({.streams = 40, .gops = 2000, .seed = 3});
      ASSERT_TRUE(workload.ok());
      SetArrivals(*workload, *ParseArrivals(kind), load, 8, 3);
      double first = 1e300, last = 0, middle = 0;
      for (const SimUnit& unit : workload->units) {
        first = std::min(first, unit.arrival_ms);
        last = std::max(last, unit.arrival_ms);
      }
      EXPECT_NEAR(workload->HotMillis() / (8 * (last - first)), load, 0.05 * load) << kind;
      // From begin to end: no tail of a few streams.
      for (const SimUnit& unit : workload->units) {
        if (unit.arrival_ms < (first + last) / 2) middle += unit.hot_ms;
      }
      EXPECT_NEAR(middle / workload->HotMillis(), 0.5, 0.05) << kind;
    }
  }
}

TEST(ArrivalsTest, SessionsAreOnAQuarterOfTheTime) {
  auto workload = MakeTranscodeWorkload({.streams = 50, .gops = 400});
  ASSERT_TRUE(workload.ok());
  SetArrivals(*workload, {ArrivalKind::kOnOff, 1}, 0.5, 8, 1);
  int short_gaps = 0, gaps = 0;
  for (const SimStream& stream : workload->streams) {
    const auto* units = &workload->units[stream.first_unit];
    const double mean = (units[399].arrival_ms - units[0].arrival_ms) / 399;
    for (int i = 1; i < 400; ++i, ++gaps) {
      ASSERT_GE(units[i].arrival_ms, units[i - 1].arrival_ms);
      if (units[i].arrival_ms - units[i - 1].arrival_ms < mean) ++short_gaps;
    }
  }
  // Within a session the mean gap is a quarter: nearly all are below the mean of all.
  EXPECT_GT(short_gaps, gaps * 92 / 100);
  EXPECT_LT(short_gaps, gaps * 97 / 100);
}

TEST(ArrivalsTest, DeadlinesMoveWithTheirUnits) {
  const auto with = [](ArrivalKind kind) {
    Workload workload;
    workload.streams.push_back({.id = StreamId{1}, .unit_count = 3});
    for (const double arrival : {0.0, 100.0, 200.0}) {
      workload.units.push_back({.arrival_ms = arrival, .hot_ms = 10, .deadline_ms = arrival + 50});
    }
    workload.units[2].deadline_ms = SimUnit{}.deadline_ms;
    SetArrivals(workload, {kind, 1}, 0.01, 1, 1);
    return workload.units;
  };
  const std::vector<SimUnit> moved = with(ArrivalKind::kPoisson);
  EXPECT_NE(moved[1].arrival_ms, 100);
  EXPECT_NEAR(moved[1].deadline_ms, moved[1].arrival_ms + 50, 1e-9);
  EXPECT_TRUE(std::isinf(moved[2].deadline_ms));
  const std::vector<SimUnit> live = with(ArrivalKind::kLive);
  EXPECT_NEAR(live[0].deadline_ms, live[1].arrival_ms, 1e-9);
  EXPECT_NEAR(live[2].deadline_ms, live[2].arrival_ms + 1000, 1e-9);
  for (const SimUnit& unit : with(ArrivalKind::kClosed)) EXPECT_TRUE(std::isinf(unit.deadline_ms));
}

TEST(SeedTest, NoStreamSharesItsDrawsWithSomethingElse) {
  std::set<std::uint64_t> salts = {kPairSalt, kVariationSalt, kArrivalSalt, kBurstSalt};
  const std::size_t others = salts.size();
  for (std::uint64_t stream = 0; stream < kMaxStreams; ++stream) {
    ASSERT_TRUE(salts.insert(SaltOfStream(stream)).second) << stream;
  }
  EXPECT_EQ(salts.size(), others + kMaxStreams);
}

TEST(SweepTest, RangesIncludeBothEnds) {
  EXPECT_THAT(ParseSweep("spread=0:0.6:0.2")->values, ElementsAre("0", "0.2", "0.4", "0.6"));
  EXPECT_THAT(ParseSweep("contexts=1,2,16")->values, ElementsAre("1", "2", "16"));
  EXPECT_THAT(ParseSweep("topology=pu:8,e5335")->values, ElementsAre("pu:8", "e5335"));
}

TEST(SweepTest, ValuesWithCommasAreNotCutThere) {
  EXPECT_THAT(ParseSweep("classes=a:5,b:1|a:1,b:1")->values, ElementsAre("a:5,b:1", "a:1,b:1"));
  EXPECT_THAT(ParseSweep("scheduler-options=hash=printed|hash=printed,beta=8")->values,
              ElementsAre("hash=printed", "hash=printed,beta=8"));
  EXPECT_THAT(ParseSweep("outages=1@5:15,5@5:15|3@7")->values, ElementsAre("1@5:15,5@5:15", "3@7"));
  EXPECT_THAT(ParseSweep("classes=a:5")->values, ElementsAre("a:5"));
  for (const char* bad :
       {"classes=a:5,b:1", "outages=1@5:15,5@5:15", "scheduler-options=hash=printed,hash=mixed"}) {
    ASSERT_FALSE(ParseSweep(bad).ok()) << bad;
    EXPECT_THAT(ParseSweep(bad).error().ToString(), HasSubstr("one value or several")) << bad;
  }
}

TEST(L7Test, ConnectionsAreAsLongAsPublished) {
  for (const auto& [trace, mean, sigma] :
       {std::tuple("mit", 8.5, 1.2), std::tuple("tu", 12.0, 1.6), std::tuple("nyp", 9.6, 0.8)}) {
    constexpr int kConnections = 400'000;
    const double deviation = (mean - 1) * std::sqrt(std::expm1(sigma * sigma) / kConnections);
    EXPECT_NEAR(MeanPackets(trace, kConnections, 1), mean, 3.5 * deviation) << trace;
  }
}

TEST(L7Test, AllConnectionsAreThereAtOnceUnlessFewerAreAskedFor) {
  Experiment experiment;
  experiment.workload = "l7";
  experiment.topology = "pu:2";
  experiment.streams = 300;
  experiment.arrivals = "closed";
  ASSERT_EQ(ValueOf(experiment, "concurrent"), ParamValue("all"));
  EXPECT_EQ(Prepare(experiment)->workload.concurrent, 300);
  experiment.concurrent = 7;
  EXPECT_EQ(Prepare(experiment)->workload.concurrent, 7);
}

TEST(SweepTest, MalformedSweepsAreRefused) {
  for (const char* bad :
       {"", "spread", "=1", "nothing=1,2", "spread=", "spread=0:1:0", "spread=0:1:-1",
        "spread=1:0:0.1", "spread=0:1:1e-9", "spread=0:inf:1", "spread=0:nan:1", "contexts=1,,2",
        "contexts=1,2,1", "seed=4,4", "seed=1,1.0,01", "load=100000000:100000001:0.1"}) {
    EXPECT_FALSE(ParseSweep(bad).ok()) << bad;
  }
  EXPECT_FALSE(MakeGrid({}, {ParseSweep("spread=0:4:1").value()}).ok());
  EXPECT_FALSE(MakeGrid({}, {ParseSweep("pus=1,x").value()}).ok() &&
               Prepare(MakeGrid({}, {ParseSweep("pus=1,x").value()})->back().experiment).ok());
  const auto wide = ParseSweep("streams=1:1000:1").value();
  const auto long_ones = ParseSweep("gops=1:1000:1").value();
  EXPECT_THAT(MakeGrid({}, {wide, long_ones}).error().ToString(), HasSubstr("too many points"));
}

TEST(SweepTest, AParameterIsSweptOnce) {
  for (const auto& [first, second] :
       {std::pair("streams=1,2", "streams=3,4"), std::pair("pus=4,8", "topology=pu:2"),
        std::pair("seed=1,2", "seed=3")}) {
    const auto grid = MakeGrid({}, {*ParseSweep(first), *ParseSweep(second)});
    ASSERT_FALSE(grid.ok()) << first;
    EXPECT_THAT(grid.error().ToString(), HasSubstr("swept twice")) << first;
  }
}

TEST(ExperimentTest, ATraceKeepsItsTimesUnlessOthersAreAskedFor) {
  std::string text = TraceHeaderLine({.machine = "m", .unit = "gop"});
  for (const int i : {0, 1}) {
    text += TraceUnitLine({.arrival_ms = 1234.0 * i,
                           .stream = 1,
                           .index = i,
                           .bytes = 9,
                           .hot_ms = 10,
                           .cold_ms = {},
                           .deadline_ms = {}});
  }
  std::istringstream in(text);
  auto trace = ReadTrace(in);
  ASSERT_TRUE(trace.ok());
  Experiment experiment;
  experiment.workload = "trace";
  experiment.topology = "pu:2";
  experiment.trace = std::make_shared<const RecordedTrace>(std::move(trace).value());
  EXPECT_EQ(Prepare(experiment)->workload.units[1].arrival_ms, 1234);
  EXPECT_EQ(Prepare(experiment)->workload.feed, Feed::kOpen);
  experiment.arrivals = "closed";
  EXPECT_EQ(Prepare(experiment)->workload.feed, Feed::kClosed);
  experiment.arrivals = "poisson";
  EXPECT_NE(Prepare(experiment)->workload.units[1].arrival_ms, 1234);
}

TEST(TraceWorkloadTest, MissingTimesFollowFromTheMedianOpening) {
  std::istringstream in(TraceHeaderLine({.machine = "m", .unit = "gop"}) +
                        TraceUnitLine({.arrival_ms = 5,
                                       .stream = 2,
                                       .number = 1,
                                       .index = 0,
                                       .bytes = 9,
                                       .hot_ms = 10,
                                       .cold_ms = 13,
                                       .deadline_ms = {}}) +
                        TraceUnitLine({.arrival_ms = 0,
                                       .stream = 1,
                                       .number = 0,
                                       .index = 0,
                                       .bytes = 9,
                                       .hot_ms = {},
                                       .cold_ms = 8,
                                       .deadline_ms = 20}) +
                        TraceUnitLine({.arrival_ms = 2,
                                       .stream = 1,
                                       .number = 0,
                                       .index = 1,
                                       .bytes = 9,
                                       .hot_ms = 4,
                                       .cold_ms = {},
                                       .deadline_ms = {}}));
  const auto trace = ReadTrace(in);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  const Workload workload = FromTrace(*trace).value();
  ASSERT_EQ(workload.streams.size(), 2U);
  EXPECT_EQ(workload.streams[0].id, StreamId{1});
  EXPECT_EQ(workload.streams[0].unit_count, 2U);
  EXPECT_EQ(workload.units[0].hot_ms, 5);
  EXPECT_EQ(workload.units[0].open_ms, 3);
  EXPECT_EQ(workload.units[0].deadline_ms, 20);
  EXPECT_EQ(workload.units[1].open_ms, 3);
  EXPECT_EQ(workload.units[2].arrival_ms, 5);
}

TEST(RandomTest, NoDrawIsAnEnd) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EXPECT_LT(Random::UniformOf(kAll), 1);
  EXPECT_GT(Random::UniformOf(kAll), Random::UniformOf(kAll - 2048)) << "the draw below it";
  EXPECT_GT(Random::UniformOf(0), 0);
  EXPECT_EQ(Random::UniformOf(std::uint64_t{1} << 63U), 0.5 + 0x1.0p-54);
}

// Units of a stream arrive as they are submitted, and are sent in the order of their indices.
TEST(TraceWorkloadTest, OrderGoesByTheIndices) {
  RecordedTrace trace;
  const auto add = [&](std::uint64_t stream, std::int64_t index) {
    trace.units.push_back({.arrival_ms = 10.0 * static_cast<double>(trace.units.size()),
                           .stream = stream,
                           .number = stream,
                           .index = index,
                           .bytes = 1,
                           .hot_ms = 5,
                           .cold_ms = {},
                           .deadline_ms = {}});
  };
  for (const std::int64_t index : {0, 7, 3}) add(1, index);
  add(0, 5);
  EXPECT_THAT(FromTrace(trace)->places, ::testing::ElementsAre(0, 0, 2, 1));
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  prepared->params.policy = "fifo";
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_TRUE(result.ok());
  EXPECT_DOUBLE_EQ(result->out_of_order, 0.25) << "unit 3 after unit 7";
  std::swap(trace.units[1].index, trace.units[2].index);
  EXPECT_TRUE(FromTrace(trace)->places.empty());
}

// A line goes by the indices, as in the server: unit 1 comes last and goes before unit 2, which
// waits.
TEST(TraceWorkloadTest, WaitingUnitsGoByTheIndices) {
  RecordedTrace trace;
  for (const std::int64_t index : {0, 2, 1}) {
    trace.units.push_back({.arrival_ms = static_cast<double>(trace.units.size()),
                           .stream = 1,
                           .index = index,
                           .bytes = 1,
                           .hot_ms = 5,
                           .cold_ms = {},
                           .deadline_ms = {}});
  }
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  prepared->params.policy = "fifo";
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out_of_order, 0);
}

TEST(TraceWorkloadTest, EachUnitHasItsOwnContextAsInAReplay) {
  RecordedTrace trace;
  for (const std::int64_t index : {0, 1, 2, 3, 4, 5}) {
    trace.units.push_back({.arrival_ms = static_cast<double>(index),
                           .stream = 1,
                           .index = index,
                           .bytes = 1,
                           .context = index % 2 == 0 ? 7U : 8U,
                           .hot_ms = 5,
                           .cold_ms = 6,
                           .deadline_ms = {}});
  }
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  const auto warm = [&experiment](int contexts) {
    experiment.contexts = contexts;
    auto prepared = Prepare(experiment);
    prepared->params.policy = "fifo";
    return Simulate(prepared->params, prepared->machine, prepared->workload)->hit_rate;
  };
  EXPECT_DOUBLE_EQ(warm(1), 0) << "the two take turns on the worker";
  EXPECT_DOUBLE_EQ(warm(2), 4.0 / 6);
}

// A server may have waited for days for its first client. Two classes: shares are counted in steps
// of time.
TEST(TraceWorkloadTest, TheClockStartsWithTheFirstArrivalAsInAReplay) {
  constexpr double kDayMs = 24 * 3600 * 1e3;
  RecordedTrace trace = *SmallTrace();
  for (TraceUnit& unit : trace.units) {
    unit.arrival_ms += 90 * kDayMs;
    unit.deadline_ms = unit.arrival_ms + 7;
  }
  const auto classes = ParseClasses("batch:1,live:3").value();
  const Workload workload = FromTrace(trace, classes).value();
  EXPECT_EQ(workload.units[0].arrival_ms, 0);
  EXPECT_EQ(workload.units[1].arrival_ms, 5);
  EXPECT_EQ(workload.units[1].deadline_ms, 12);
  Experiment experiment;
  experiment.topology = "pu:1";
  experiment.classes = "batch:1,live:3";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok()) << prepared.error().ToString();
  prepared->params.policy = "ps-hrw";
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
}

// A unit seen only cold in a trace whose median opening is dearer than it: as in a replay.
TEST(TraceWorkloadTest, WarmTimesAreAtLeastAMicrosecond) {
  const TraceUnit cold{.hot_ms = {}, .cold_ms = 8, .deadline_ms = {}};
  EXPECT_EQ(TimesOf(cold, 3).hot_ms, 5);
  EXPECT_EQ(TimesOf(cold, 7.9).open_ms, 7.9);
  EXPECT_EQ(TimesOf(cold, 20).hot_ms, 1e-3);
  EXPECT_EQ(TimesOf(cold, 20).open_ms, 8 - 1e-3);
}

TEST(TraceWorkloadTest, UnitsHaveTheClassOfTheirNameAsInAReplay) {
  const auto classes = ParseClasses("batch:1,live:3").value();
  const Workload workload = FromTrace(*SmallTrace(), classes).value();
  ASSERT_EQ(workload.classes.size(), 2U);
  EXPECT_EQ(workload.classes[1].weight, 3);
  EXPECT_EQ(workload.streams[0].service_class, 1) << "live";
  EXPECT_EQ(workload.streams[1].service_class, 0) << "batch";
  EXPECT_EQ(FromTrace(*SmallTrace())->classes.size(), 1U) << "one class unless they are given";
  EXPECT_THAT(RefusalOf({{"workload", "trace"}, {"classes", "live:1"}}),
              AllOf(HasSubstr("parameter: classes"), HasSubstr("batch")));
  EXPECT_THAT(ClassOfTrace("", classes).error().ToString(),
              HasSubstr("recorded without classes. (parameter: classes; accepted: without"));
}

// Segments have ids for numbers: what sm and wired make of them must not be other work than in a
// replay.
TEST(TraceWorkloadTest, StreamsKeepTheirNumbersAsInAReplay) {
  RecordedTrace trace;
  for (const std::uint64_t stream : {0U, 1U, 2U, 3U}) {
    trace.units.push_back({.stream = stream,
                           .number = 2 * stream,
                           .bytes = 1,
                           .hot_ms = 5,
                           .cold_ms = {},
                           .deadline_ms = {}});
  }
  Experiment experiment;
  experiment.topology = "pu:2";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  for (const char* policy : {"sm", "wired"}) {
    prepared->params.policy = policy;
    const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
    ASSERT_TRUE(result.ok()) << policy;
    EXPECT_EQ(result->worker_utilisation[1], 0) << policy << ": all numbers are even";
  }
}

TEST(TraceWorkloadTest, TimesThatNoClockHoldsAreRefused) {
  RecordedTrace trace = *SmallTrace();
  for (TraceUnit& unit : trace.units) unit.hot_ms = kMaxTraceMillis;
  Experiment experiment;
  experiment.topology = "pu:2";
  experiment.workload = "trace";
  experiment.slow_down = 100;
  experiment.trace = std::make_shared<const RecordedTrace>(trace);
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok());
  const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().ToString(), HasSubstr("too long"));
}

TEST(TraceWorkloadTest, VariesTimesBySeedWithinTheNoise) {
  Workload recorded{.name = "recorded", .classes = {}, .streams = {}, .units = {}};
  recorded.units.assign(1000, SimUnit{.arrival_ms = 7, .hot_ms = 10, .open_ms = 1});
  const auto varied = [&](const TimeVariation& variation) {
    Workload workload = recorded;
    VaryTimes(workload, variation);
    return workload.units;
  };
  EXPECT_EQ(varied({}).front().hot_ms, 10) << "as recorded unless asked otherwise";
  EXPECT_EQ(varied({.slow_down = 3}).back().hot_ms, 30);
  double sum = 0, least = 1e9, most = 0;
  for (const SimUnit& unit : varied({.noise = 0.2, .slow_down = 2, .seed = 5})) {
    EXPECT_DOUBLE_EQ(unit.open_ms * 10, unit.hot_ms);
    EXPECT_EQ(unit.arrival_ms, 7);
    sum += unit.hot_ms;
    least = std::min(least, unit.hot_ms);
    most = std::max(most, unit.hot_ms);
  }
  EXPECT_GE(least, 16);
  EXPECT_LT(least, 16.2);
  EXPECT_LE(most, 24);
  EXPECT_GT(most, 23.8);
  EXPECT_NEAR(sum / 1000, 20, 0.3);
  EXPECT_EQ(varied({.noise = 0.2, .seed = 5})[3].hot_ms,
            varied({.noise = 0.2, .seed = 5})[3].hot_ms);
  EXPECT_NE(varied({.noise = 0.2, .seed = 5})[3].hot_ms,
            varied({.noise = 0.2, .seed = 6})[3].hot_ms);
}

TEST(SweepTest, WhatIsGivenIsNotSweptToo) {
  Experiment base;
  ASSERT_TRUE(SetParam(base, "contexts", "3").ok());
  ASSERT_TRUE(SetParam(base, "topology", "pu:2").ok());
  for (const char* axis : {"contexts=1,2", "pus=1,2", "topology=pu:4"}) {
    EXPECT_FALSE(MakeGrid(base, {*ParseSweep(axis)}).ok()) << axis;
  }
}

TEST(SweepTest, WholeNumbersOfARangeAreMeantToTheLastDigit) {
  EXPECT_THAT(ParseSweep("seed=4294967294:4294967295:1")->values,
              ElementsAre("4294967294", "4294967295"));
  EXPECT_THAT(ParseSweep("spread=-0.1:0.2:0.1")->values, ElementsAre("-0.1", "0", "0.1", "0.2"));
  EXPECT_THAT(ParseSweep("spread=0:2e-10:1e-10")->values, ElementsAre("0", "1e-10", "2e-10"));
  const auto grid = MakeGrid({}, {*ParseSweep("seed=4000000001:4000000005:1")});
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ(grid->front().experiment.seed, 4000000001U);
  EXPECT_EQ(grid->back().experiment.seed, 4000000005U);
}

TEST(SweepTest, TheSeedMayBeSwept) {
  const auto grid = MakeGrid({}, {*ParseSweep("seed=3:5:1")});
  ASSERT_TRUE(grid.ok());
  ASSERT_EQ(grid->size(), 3U);
  EXPECT_EQ(grid->at(2).experiment.seed, 5U);
  for (const char* bad :
       {"seed=-1", "seed=0.5", "seed=x", "seed=4294967296", "seed=1e1", "seed=0x1"}) {
    const auto axis = ParseSweep(bad);
    ASSERT_TRUE(axis.ok()) << bad;
    const auto refused = MakeGrid({}, {*axis});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_THAT(refused.error().ToString(), HasSubstr("0 to 4294967295")) << bad;
  }
}

}  // namespace
}  // namespace gopmill::sim
