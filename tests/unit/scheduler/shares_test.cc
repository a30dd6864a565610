// SPDX-License-Identifier: Apache-2.0
//
// The policies that divide the machine among service classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "scheduler/stream_cores.h"
#include "tests/unit/scheduler/class_load.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using ::testing::SizeIs;

double ShareOf(const Served& served, std::size_t c) {
  return served[c] / (served[0] + served[1] + served[2]);
}

// The workers that each class's units went to from now on, for a second.
std::array<std::set<int>, 3> PartsOf(ClassLoad& load) {
  std::array<std::set<int>, 3> parts;
  load.pool.on_assigned = [&parts](UnitId unit, WorkerId worker, WorkerId /*home*/) {
    parts[unit.stream.value % 3].insert(worker.value);
  };
  load.Run(1);
  load.pool.on_assigned = nullptr;
  return parts;
}

TEST(ApTest, DealsWorkersByWeightAndAnewWhenOtherClassesHaveUnits) {
  ClassLoad load("ap", Weighted(), "core:9 pu:1");
  load.Start(1);
  load.Start(2);
  load.Run(1);
  const auto two = PartsOf(load);
  EXPECT_THAT(two[1], SizeIs(7)) << "3 of 4 parts of nine workers";
  EXPECT_THAT(two[2], SizeIs(2));
  load.Start(0);
  load.Run(1);  // until what was queued before is done
  const auto three = PartsOf(load);
  EXPECT_THAT(three[0], SizeIs(5));
  EXPECT_THAT(three[1], SizeIs(3));
  EXPECT_THAT(three[2], SizeIs(1));
  std::set<int> all;
  for (const std::set<int>& part : three) all.insert(part.begin(), part.end());
  EXPECT_THAT(all, SizeIs(9)) << "no worker serves two classes";
}

TEST(ApTest, DealsAnewWhenAWorkerLeavesOrComesBack) {
  // Dealt in the order a, a, b, a: it is b's that leaves. Of three workers b's part is one, the
  // last.
  VirtualPool pool({.topology = "core:4 pu:1", .policy = "ap", .options = ClassOptions("a:3,b:1")});
  pool.complete_spec = [](JobSpec& spec) {
    spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 2);
  };
  std::array<std::set<int>, 2> parts;
  pool.on_assigned = [&](UnitId unit, WorkerId worker, WorkerId /*home*/) {
    parts.at(unit.stream.value % 2).insert(worker.value);
  };
  for (std::uint64_t stream = 0; stream < 40; ++stream) pool.Submit(stream, 0);
  EXPECT_THAT(parts[1], testing::ElementsAre(2));
  pool.SetAvailable(2, false);
  parts = {};
  for (std::uint64_t stream = 40; stream < 80; ++stream) pool.Submit(stream, 0);
  for (int i = 0; i < 30; ++i) pool.FinishNext();
  EXPECT_THAT(parts[0], testing::ElementsAre(0, 1));
  EXPECT_THAT(parts[1], testing::ElementsAre(3));
  pool.SetAvailable(2, true);
  parts = {};
  for (int i = 0; i < 12; ++i) pool.FinishNext();
  EXPECT_THAT(parts[0], testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(parts[1], testing::ElementsAre(2));
}

class FairTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, FairTest, testing::Values("ps-hrw", "gps-hrw"));

TEST_P(FairTest, BackloggedClassesGetTheirWeightsOverAnyTenSeconds) {
  ClassLoad load(GetParam());
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  for (int window = 0; window < 5; ++window) {
    const Served served = load.ServedWithin(10);
    EXPECT_NEAR(ShareOf(served, 0), 5.0 / 9, 0.02 * 5 / 9);
    EXPECT_NEAR(ShareOf(served, 1), 3.0 / 9, 0.02 * 3 / 9);
    EXPECT_NEAR(ShareOf(served, 2), 1.0 / 9, 0.02 * 1 / 9 + 0.001);
  }
}

TEST_P(FairTest, AClassThatFloodsGainsNothing) {
  ClassLoad load(GetParam());
  load.bytes = {1000, 1000, 500'000};  // bronze waits with five hundred times the bytes
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  EXPECT_NEAR(ShareOf(load.ServedWithin(10), 2), 1.0 / 9, 0.005);
}

TEST_P(FairTest, UnusedSharesAreLentAndReturnedAtOnce) {
  ClassLoad load(GetParam());
  load.Start(1);
  load.Start(2);
  load.Run(1);
  const Served without_gold = load.ServedWithin(5);
  EXPECT_NEAR(ShareOf(without_gold, 1), 0.75, 0.02);
  load.Start(0);
  load.Run(0.1);  // the units that ran when it came back
  EXPECT_NEAR(ShareOf(load.ServedWithin(2), 0), 5.0 / 9, 0.02) << "it does not pay for the past";
}

// Three of four units of gold end long before the mean of all, and silver starts many meanwhile.
TEST_P(FairTest, UnitsOfUnevenLengthCostAClassNothing) {
  PolicyOptions options;
  options.classes = ParseClasses("gold:1,silver:1,none:1").value();
  ClassLoad load(GetParam(), options, "pu:4");
  load.pool.service_time = [](const Ticket& ticket) {
    const UnitId unit = ticket.report.unit;
    if (unit.stream.value % 3 != 0) return milliseconds(10);
    return milliseconds(unit.index.value % 4 == 3 ? 325 : 25);
  };
  load.Start(0);
  load.Start(1);
  load.Run(20);
  EXPECT_NEAR(ShareOf(load.ServedWithin(200), 0), 0.5, 0.01);
}

// A client goes between the choice of its unit and its start: the unit was charged and never ran.
TEST_P(FairTest, UnitsThatAreRecalledCostNothing) {
  ClassLoad load(GetParam(), ClassOptions("a:1,b:1,none:1"), "pu:2");
  load.Start(0);
  load.Start(1);
  load.Run(5);
  constexpr std::uint64_t kFirst = 300, kGone = 1000;
  load.pool.on_assigned = [&](UnitId unit, WorkerId, WorkerId) {
    if (unit.stream.value >= kFirst) load.pool.Cancel(unit.stream.value);
  };
  for (std::uint64_t i = 0; i < kGone; ++i) load.pool.Submit(kFirst + 3 * i, 0);
  load.Run(5);
  EXPECT_EQ(load.pool.dispatcher().counters().cancelled, kGone);
  EXPECT_NEAR(ShareOf(load.ServedWithin(20), 0), 0.5, 0.005);
}

TEST_P(FairTest, NoWorkerIsIdleWhileAnythingWaits) {
  ClassLoad load(GetParam());
  load.Start(2);
  load.Start(0);
  const TimePoint end = load.pool.now() + std::chrono::seconds(5);
  while (load.pool.now() < end && load.pool.FinishNext()) {
    if (load.pool.pool().waiting_units() == 0) continue;
    ASSERT_EQ(load.pool.busy_workers(), load.pool.worker_count());
  }
}

TEST_P(FairTest, AGuaranteeHoldsWhateverTheWeights) {
  PolicyOptions options;
  options.classes = ParseClasses("bulk:100,live:1:0.5,rest:1").value();
  ClassLoad load(GetParam(), options);
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  EXPECT_GE(ShareOf(load.ServedWithin(10), 1), 0.48);
}

TEST_P(FairTest, AGuaranteeOfLessThanOneWorkerHoldsToo) {
  PolicyOptions options;
  options.classes = ParseClasses("bulk:98,live:1:0.2,rest:1").value();
  for (const char* topology : {"pu:2", "pu:4", "pack:2 core:4 pu:1"}) {
    ClassLoad load(GetParam(), options, topology);
    for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
    load.Run(1);
    const Served served = load.ServedWithin(20);
    EXPECT_NEAR(ShareOf(served, 1), 0.2, 0.01) << topology;
    EXPECT_NEAR(ShareOf(served, 0), 0.8 * 98 / 99, 0.02) << topology;
  }
}

// Who has run alone has had much for its weight, and is not made to wait for it.
TEST_P(FairTest, AGuaranteeHoldsFromTheMomentOthersCome) {
  PolicyOptions options;
  options.classes = ParseClasses("bulk:98,live:1:0.4,rest:1").value();
  ClassLoad load(GetParam(), options, "pu:2");
  load.Start(1);
  load.Run(1);
  load.Start(0);
  load.Run(0.1);
  EXPECT_NEAR(ShareOf(load.ServedWithin(2), 1), 0.4, 0.04);
}

TEST_P(FairTest, AMaximumHoldsWhileOthersWait) {
  PolicyOptions options;
  options.classes = ParseClasses("bulk:100:0:2,live:1,rest:1").value();
  ClassLoad load(GetParam(), options);
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  EXPECT_NEAR(ShareOf(load.ServedWithin(10), 0), 2.0 / 8, 0.02);
}

// What a class may not have goes to the others by weight, not all to the one with a guarantee.
TEST_P(FairTest, AMaximumLeavesWhatIsDueToTheOthers) {
  PolicyOptions options;
  options.classes = ParseClasses("bulk:8:0:2,live:1:0.5,rest:1").value();
  ClassLoad load(GetParam(), options);
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  const Served served = load.ServedWithin(10);
  const std::vector<double> due = AssuredShares(options.classes, 8);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(ShareOf(served, c), due[c], 0.02) << c;
}

TEST_P(FairTest, TheEarliestDeadlineOfAClassGoesFirst) {
  VirtualPool pool({.topology = "core:1 pu:1", .policy = GetParam()});
  int order = 0;
  pool.complete_spec = [&](JobSpec& spec) {
    if (spec.unit.stream.value != 9) spec.deadline = TimePoint{} + milliseconds(500 - 50 * order++);
  };
  pool.Submit(9, 0);  // runs; has no deadline
  pool.Submit(8, 0);
  pool.Submit(9, 1);
  pool.Submit(7, 0);
  pool.FinishAll();
  std::vector<std::uint64_t> streams;
  for (const auto& each : pool.assignments()) streams.push_back(each.unit.stream.value);
  EXPECT_EQ(streams, (std::vector<std::uint64_t>{9, 7, 8, 9}));
}

TEST(StreamCoresTest, GivesWholeWorkersAndOneForTheRest) {
  VirtualPool pool({.topology = "pack:2 core:8 pu:1"});
  pool.SetAvailable(5, false);
  for (const auto base : {StreamCores::Base::kHCahrw, StreamCores::Base::kHrw}) {
    StreamCores cores(base, {}, pool.pool());
    for (std::uint64_t s = 0; s < 200; ++s) {
      Unit unit;
      unit.spec.unit.stream = StreamId{s};
      unit.home = cores.Home(StreamId{s}, pool.pool());
      const CoreSet& set = cores.Of(unit, 2.4, pool.pool());
      ASSERT_EQ(set.count, 3);
      EXPECT_TRUE(set.residual);
      EXPECT_NEAR(set.fraction, 0.4 / 2.4, 1e-9);
      std::set<int> distinct(set.workers.begin(), set.workers.begin() + 3);
      EXPECT_EQ(distinct.size(), 3U);
      EXPECT_EQ(set.workers[0], unit.home.worker.value)
          << "with all queues empty the home comes first";
    }
  }
}

// Beyond kMaxStreamCores nothing is chosen, and nothing may be held against the stream for that.
TEST(FairnessInsideAClassTest, AStreamWithAShareOfManyWorkersIsAtHomeEverywhere) {
  VirtualPool pool({.topology = "pack:2 core:64 pu:1", .policy = "ps-hrw"});
  // Everybody is busy; then one stream waits with nearly all bytes, others with few, younger ones.
  for (std::uint64_t s = 0; s < 128; ++s) pool.Submit(1000 + s, 0);
  pool.Submit(1, 0, 10'000'000);
  for (std::uint64_t s = 0; s < 7; ++s) pool.Submit(2 + s, 0, 1000);
  for (int w = 0; w < 128; w += 16) {
    if (pool.WorkerOf(1, 0) >= 0) break;
    pool.FinishOn(w);
  }
  EXPECT_EQ(pool.WorkerOf(1, 0), 0) << "the oldest unit goes to the first worker that comes free";
}

TEST(StreamCoresTest, ASetLastsUntilItsShareChangedByBeta) {
  const VirtualPool pool({.topology = "core:8 pu:1"});
  StreamCores cores(StreamCores::Base::kHCahrw, {}, pool.pool());
  Unit unit;
  unit.home = cores.Home({}, pool.pool());
  EXPECT_EQ(cores.Of(unit, 2.0, pool.pool()).share, 2.0);
  EXPECT_EQ(cores.Of(unit, 2.3, pool.pool()).share, 2.0) << "15 % is within beta";
  EXPECT_EQ(cores.Of(unit, 2.4, pool.pool()).share, 2.4);
  cores.Forget();
  EXPECT_EQ(cores.Of(unit, 2.5, pool.pool()).share, 2.5);
}

TEST(StreamCoresTest, AWholeShareHasNoRest) {
  const VirtualPool pool({.topology = "core:8 pu:1"});
  for (const SetRule rule : {SetRule::kExcluding, SetRule::kRepeated}) {
    PolicyOptions options;
    options.sets = rule;
    StreamCores cores(StreamCores::Base::kHCahrw, options, pool.pool());
    Unit unit;
    unit.home = cores.Home({}, pool.pool());
    EXPECT_EQ(cores.Of(unit, 3.0, pool.pool()).count, rule == SetRule::kExcluding ? 3 : 1);
    EXPECT_FALSE(cores.Of(unit, 3.0, pool.pool()).residual);
  }
}

TEST(StreamCoresTest, ThePrintedFormLosesTheRestNowAndThen) {
  const VirtualPool pool({.topology = "core:8 pu:1"});
  PolicyOptions printed;
  printed.sets = SetRule::kRepeated;
  StreamCores cores(StreamCores::Base::kHCahrw, printed, pool.pool());
  int lost = 0;
  for (std::uint64_t s = 0; s < 300; ++s) {
    Unit unit;
    unit.spec.unit.stream = StreamId{s};
    unit.home = cores.Home(StreamId{s}, pool.pool());
    lost += cores.Of(unit, 1.1, pool.pool()).residual ? 0 : 1;
  }
  EXPECT_GT(lost, 100) << "the multipliers favour workers that are in the set already";
}

// --- The other allocations -----------------------------------------------------------------------

TEST(AllocationLayersTest, StaticKeepsEveryClassOnItsOwnWorkers) {
  ClassLoad load("static");
  std::array<std::set<int>, 3> workers;
  load.pool.on_assigned = [&](UnitId unit, WorkerId w, WorkerId) {
    workers[unit.stream.value % 3].insert(w.value);
  };
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  EXPECT_EQ(workers[0].size() + workers[1].size() + workers[2].size(), 8U);
  EXPECT_GT(workers[0].size(), workers[1].size());
  EXPECT_GT(workers[1].size(), workers[2].size());
}

// By middles gold and silver get two each, though gold is due 2.2 and silver 1.3.
TEST(AllocationLayersTest, StaticTakesAWorkerFromWhoHasMostBeyondItsShare) {
  PolicyOptions options;
  options.classes = ParseClasses("gold:5,silver:3,bronze:1").value();
  ClassLoad load("static", options, "pu:4");
  std::array<std::set<int>, 3> workers;
  load.pool.on_assigned = [&](UnitId unit, WorkerId w, WorkerId) {
    workers[unit.stream.value % 3].insert(w.value);
  };
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  EXPECT_EQ(workers[0].size(), 2U);
  EXPECT_EQ(workers[1].size(), 1U);
  EXPECT_EQ(workers[2].size(), 1U);
}

TEST(AllocationLayersTest, StaticServesMoreClassesThanThereAreWorkers) {
  for (const char* classes : {"a:1,b:1,c:1", "a:5,b:1,c:4", "a:1,b:1,c:9", "a:1:0.5,b:1:0.5,c:1"}) {
    for (const char* topology : {"pu:1", "pu:2", "pu:3"}) {
      PolicyOptions options;
      options.classes = ParseClasses(classes).value();
      ClassLoad load("static", options, topology);
      for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
      load.Run(2);
      for (const double served : load.ServedWithin(10)) {
        EXPECT_GT(served, 0) << classes << ", " << topology;
      }
      load.active = {};
      load.pool.FinishAll();
      EXPECT_EQ(load.pool.pool().waiting_units(), 0U) << classes << ", " << topology;
    }
  }
}

TEST(AllocationLayersTest, StaticLodgesAClassWhereItDisturbsLeast) {
  PolicyOptions options;
  options.classes = ParseClasses("a:5,b:1,c:4").value();
  ClassLoad load("static", options, "pu:2");
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  EXPECT_NEAR(ShareOf(load.ServedWithin(10), 0), 0.5, 0.01) << "a has a worker for itself";
}

TEST(AllocationLayersTest, QuantumSharesEquallyWhateverTheWeights) {
  ClassLoad load("quantum");
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(1);
  const Served served = load.ServedWithin(10);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(ShareOf(served, c), 1.0 / 3, 0.03);
}

TEST(AllocationLayersTest, CohortStaysWithItsClass) {
  VirtualPool pool({.topology = "core:1 pu:1", .policy = "cohort", .options = Weighted()});
  pool.complete_spec = [](JobSpec& spec) {
    spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 3);
  };
  for (int index = 0; index < 5; ++index) {
    for (std::uint64_t s = 0; s < 3; ++s) pool.Submit(s, index);
  }
  pool.FinishAll();
  int switches = 0;
  for (std::size_t i = 1; i < pool.assignments().size(); ++i) {
    switches += pool.assignments()[i].unit.stream != pool.assignments()[i - 1].unit.stream ? 1 : 0;
  }
  EXPECT_EQ(switches, 2);
}

TEST(AllocationLayersTest, CreditFollowsTheWeightsInTheLongRun) {
  ClassLoad load("credit");
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  const Served served = load.ServedWithin(20);
  EXPECT_NEAR(ShareOf(served, 0), 5.0 / 9, 0.05);
  EXPECT_NEAR(ShareOf(served, 2), 1.0 / 9, 0.05);
}

TEST(AllocationLayersTest, CreditServesAClassThatIsLeftNothingLast) {
  PolicyOptions options;
  options.classes = ParseClasses("a:1:0.6,b:1:0.4,none:1").value();
  ClassLoad load("credit", options);
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  const Served served = load.ServedWithin(10);
  EXPECT_EQ(served[2], 0);
  EXPECT_NEAR(ShareOf(served, 0), 0.6, 0.05);
}

TEST(AllocationLayersTest, EverestGivesALateClassMoreWorkersWithinItsGuarantee) {
  PolicyOptions options;
  options.classes = ParseClasses("a:1:0:0:50,b:1:0:0:50,c:1:0:0:5000").value();
  ClassLoad load("everest", options);
  load.Start(2);  // patient: ten streams within five seconds need few workers
  load.Run(5);
  load.Start(0);
  load.Run(1);
  const Served served = load.ServedWithin(5);
  EXPECT_GT(ShareOf(served, 0), 0.5);
  EXPECT_GT(ShareOf(served, 2), 0.05) << "nobody starves";
}

TEST(AllocationLayersTest, EverestTakesTheWorkersOfAClassThatStopped) {
  for (const char* policy : {"everest", "everest-ae"}) {
    PolicyOptions options;
    options.classes = ParseClasses("a:7:0:0:50,b:1:0:0:50,none:1").value();
    ClassLoad load(policy, options);
    load.Start(0);
    load.Start(1);
    load.Run(3);
    EXPECT_GT(ShareOf(load.ServedWithin(3), 0), 0.5) << policy;
    load.active[0] = false;
    load.Run(2);
    EXPECT_GT(load.ServedWithin(5)[1], 0.98 * 5 * 8) << policy << ", of eight workers";
  }
}

// A class of one stream beside two that always have thirty units: its queue is never the longest.
TEST(AllocationLayersTest, EverestLetsNoClassWaitForEver) {
  for (const char* policy : {"everest", "everest-ae"}) {
    for (const auto& [classes, topology] :
         {std::pair("a:1,b:1,c:1", "pu:1"), std::pair("a:1,b:1,c:1", "pu:2"),
          std::pair("a:1:0.5,b:1:0.5,c:1", "pu:2"), std::pair("a:18,b:1,c:1", "pu:3")}) {
      PolicyOptions options;
      options.classes = ParseClasses(classes).value();
      ClassLoad load(policy, options, topology);
      load.Start(0);
      load.Start(1);
      load.Run(2);
      load.active[2] = true;
      load.Refill(2);
      load.Run(1);
      const Served served = load.ServedWithin(10);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_GT(ShareOf(served, c), 0.1) << policy << ", " << classes << ", " << topology;
      }
      load.active = {};
      load.pool.FinishAll();
      EXPECT_EQ(load.pool.pool().waiting_units(), 0U);
    }
  }
}

// Of three workers 2.7 are a's: the other two share the third one.
TEST(AllocationLayersTest, EverestTakesTurnsWhereMostIsBeyondTheShare) {
  PolicyOptions options;
  options.classes = ParseClasses("a:18:0:0:50,b:1:0:0:50,c:1:0:0:50").value();
  ClassLoad load("everest", options, "pu:3");
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  const Served served = load.ServedWithin(10);
  EXPECT_NEAR(ShareOf(served, 0), 2.0 / 3, 0.01);
  EXPECT_NEAR(ShareOf(served, 1), 1.0 / 6, 0.02);
}

// A class that is idle for a moment gives half of what it has, and does not keep all of it as well.
TEST(AllocationLayersTest, CreditIsStolenFromSomebody) {
  PolicyOptions options;
  options.classes = ParseClasses("a:1,b:1,none:1").value();
  ClassLoad load("credit", options);
  load.Start(0);
  load.Start(1);
  load.Run(2);
  load.active[0] = false;
  while (load.pool.pool().class_state(0).waiting_units > 0) load.Run(0.001);
  load.Run(0.2);
  load.Start(0);
  const Served after = load.ServedWithin(0.2);
  EXPECT_LT(ShareOf(after, 0), 0.615) << "with all of it kept, 0.623";
}

// One worker, and units of 2 s, twenty of credit's periods; those of class 1 can be short ones.
struct LongUnits : ClassLoad {
  explicit LongUnits(const std::string& classes, milliseconds of_class_1 = milliseconds(2000))
      : ClassLoad("credit", ClassOptions(classes), "pu:1") {
    pool.service_time = [of_class_1](const Ticket& ticket) {
      return ticket.report.unit.stream.value % 3 == 1 ? of_class_1 : milliseconds(2000);
    };
  }
};

// What b does not use is lent, and a owes nothing for it.
TEST(AllocationLayersTest, CreditIsNotOwedForWhatNobodyElseWanted) {
  LongUnits load("a:1,b:1,none:1");
  load.Start(0);
  load.Run(200);
  load.Start(1);
  EXPECT_GT(ShareOf(load.ServedWithin(50), 0), 0.4);
}

TEST(AllocationLayersTest, CreditIsNotOwedToAClassThatComesNowAndThen) {
  LongUnits load("a:1,b:1,none:1", milliseconds(100));
  load.Start(0);
  for (int round = 0; round < 50; ++round) {
    load.pool.Submit(1, load.next[1]++);
    load.Run(10);
  }
  load.Start(1);
  EXPECT_GT(ShareOf(load.ServedWithin(50), 0), 0.4);
}

// a always waits; b has a short unit now and then, which finds all workers busy with a's.
struct LightUse {
  const char* topology;
  milliseconds of_a, of_b, each;
  milliseconds flood;  // b's units when it waits all the time, too
};

TEST(AllocationLayersTest, CreditIsNotOwedToAClassThatUsesLittle) {
  using ms = milliseconds;
  for (const LightUse& use : {LightUse{"pu:2", ms(500), ms(20), ms(100), ms(500)},
                              LightUse{"pu:2", ms(150), ms(30), ms(100), ms(150)},
                              LightUse{"pu:1", ms(2000), ms(10), ms(1000), ms(2000)},
                              LightUse{"pu:1", ms(200), ms(50), ms(300), ms(200)},
                              LightUse{"pu:8", ms(300), ms(30), ms(20), ms(300)},
                              LightUse{"pu:8", ms(300), ms(30), ms(20), ms(3000)}}) {
    ClassLoad load("credit", ClassOptions("a:1,b:1,once:1"), use.topology);
    milliseconds of_b = use.of_b;
    load.pool.service_time = [&](const Ticket& ticket) {
      const std::uint64_t of = ticket.report.unit.stream.value % 3;
      return of == 2 ? ms(10'000) : of == 1 ? of_b : use.of_a;
    };
    load.pool.Submit(2, load.next[2]++);  // a long unit, the only one of its class
    load.Start(0);
    for (TimePoint at{ms(3)}; at < TimePoint{std::chrono::seconds(200)}; at += use.each) {
      load.pool.FinishUntil(at);
      load.pool.Submit(1, load.next[1]++);
    }
    of_b = use.flood;
    load.Start(1);
    EXPECT_NEAR(ShareOf(load.ServedWithin(50), 0), 0.5, 0.04)
        << use.topology << ", " << use.of_a.count() << " and " << use.of_b.count() << " ms";
  }
}

// Units two hundred times as long as others': a bound on debts must not lie within what is owed
// between the turns of classes that all wait.
TEST(AllocationLayersTest, CreditFollowsTheWeightsOfUnitsOfVeryDifferentLength) {
  constexpr std::array kTimes = {milliseconds(2000), milliseconds(10), milliseconds(50)};
  ClassLoad load("credit");
  load.pool.service_time = [&](const Ticket& ticket) {
    return kTimes.at(ticket.report.unit.stream.value % 3);
  };
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(10);
  const Served served = load.ServedWithin(200);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(ShareOf(served, c), load.pool.pool().classes()[c].weight / 9, 0.02) << c;
  }
}

TEST(AllocationLayersTest, CreditFollowsTheWeightsOfUnitsLongerThanAPeriod) {
  for (const int weight : {1, 3, 9}) {
    LongUnits load("a:" + std::to_string(weight) + ",b:1,none:0.000001");
    load.Start(0);
    load.Start(1);
    load.Run(100);
    EXPECT_NEAR(ShareOf(load.ServedWithin(2000), 0), weight / (weight + 1.0), 0.02) << weight;
  }
}

TEST(AllocationLayersTest, EverestAeIsWorkConserving) {
  ClassLoad load("everest-ae");
  load.Start(1);
  const TimePoint end = load.pool.now() + std::chrono::seconds(3);
  while (load.pool.now() < end && load.pool.FinishNext()) {
    if (load.pool.pool().waiting_units() == 0) continue;
    ASSERT_EQ(load.pool.busy_workers(), 8);
  }
}

}  // namespace
}  // namespace gopmill
