// SPDX-License-Identifier: Apache-2.0
//
// What each policy promises, on virtual workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

constexpr const char* kTwoByTwoByTwo = "pack:2 l2:2 core:2 pu:1";

TEST(RegistryTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  const VirtualPool any({});
  const Result<std::unique_ptr<Policy>> made = MakePolicy("fastest", {}, any.pool());
  ASSERT_FALSE(made.ok());
  const Error& error = ErrorOf(made);
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.parameter, "scheduler.policy");
  EXPECT_EQ(error.accepted, PolicyNames());
  EXPECT_NE(error.accepted.find("h-cahrw, "), std::string::npos);
}

TEST(RegistryTest, ListsOfNamesAreTakenInTheirOrder) {
  EXPECT_EQ(ParsePolicyNames("rr,fifo").value(), (std::vector<std::string>{"rr", "fifo"}));
  EXPECT_EQ(ParsePolicyNames("all")->size(), Policies().size());
  EXPECT_EQ(ParsePolicyNames("all")->front(), "hearth");
}

TEST(RegistryTest, ListsWithNamesThatAreUnknownEmptyOrTwiceAreRefused) {
  for (const char* text : {"", ",", "fifo,", "fifo,,rr", "FIFO", "fifo, rr", "nope", "all,fifo"}) {
    const auto parsed = ParsePolicyNames(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().parameter, "scheduler");
    EXPECT_NE(parsed.error().accepted.find("h-cahrw, "), std::string::npos) << text;
  }
  const auto twice = ParsePolicyNames("fifo,rr,fifo");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find("fifo is named twice"), std::string::npos);
}

TEST(RegistryTest, FreeMatricesAreForFlatPoliciesOfBoundedSize) {
  const VirtualPool two({.topology = "core:2 pu:1"});
  PolicyOptions options;
  options.ratios.matrix = {1, 2, 2, 1};
  EXPECT_TRUE(MakePolicy("ca-ahrw", options, two.pool()).ok());
  for (const char* tree_policy : {"h-cahrw", "hearth", "ps-hrw"}) {
    const auto refused = MakePolicy(tree_policy, options, two.pool());
    ASSERT_FALSE(refused.ok()) << tree_policy;
    EXPECT_TRUE(ErrorOf(refused).message.starts_with(tree_policy)) << ErrorOf(refused).message;
    EXPECT_EQ(ErrorOf(refused).parameter, "ratios");
  }
  options.ratios.matrix = {1, 2, 3, 1};
  EXPECT_FALSE(MakePolicy("ca-ahrw", options, two.pool()).ok()) << "not symmetric";
  options.ratios.matrix = {1, 2, 1};
  EXPECT_FALSE(MakePolicy("ca-ahrw", options, two.pool()).ok()) << "not square";

  const VirtualPool many({.topology = "pack:2 core:256 pu:1"});
  EXPECT_FALSE(MakePolicy("ca-ahrw", {}, many.pool()).ok());
  EXPECT_TRUE(MakePolicy("h-cahrw", {}, many.pool()).ok());
}

TEST(RegistryTest, RatiosThatFallWithDistanceAreRefused) {
  const VirtualPool any({});
  PolicyOptions options;
  options.ratios.levels.l3 = 0.5;
  EXPECT_FALSE(MakePolicy("h-cahrw", options, any.pool()).ok());
  options.ratios.levels.l3 = 100;
  EXPECT_FALSE(MakePolicy("h-cahrw", options, any.pool()).ok());
}

// --- All policies
// ----------------------------------------------------------------------------------

class EveryPolicyTest : public testing::TestWithParam<std::string> {};
std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : Policies()) names.emplace_back(entry.name);
  return names;
}
const auto kPolicyTestName = [](const auto& test) {
  std::string name = test.param;
  std::erase(name, '-');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicyTest, testing::ValuesIn(AllNames()), kPolicyTestName);

TEST_P(EveryPolicyTest, AssignsTheUnitsOfAStreamInOrder) {
  VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = GetParam()});
  for (int index = 0; index < 30; ++index) {
    for (std::uint64_t stream = 0; stream < 12; ++stream) {
      pool.Submit(stream, index, 1000 + 100 * stream);
    }
    if (index % 3 == 0) pool.FinishNext();
  }
  pool.FinishAll();
  std::map<StreamId, std::int64_t> next;
  for (const auto& assignment : pool.assignments()) {
    EXPECT_EQ(assignment.unit.index.value, next[assignment.unit.stream]++);
  }
  EXPECT_EQ(pool.assignments().size(), 360U);
}

// As units of long GOPs do, which come when the one before them is done with their decoder.
TEST_P(EveryPolicyTest, AssignsTheFirstUnitOfAStreamOfThoseThatWait) {
  VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = GetParam()});
  pool.on_assigned = [&](UnitId unit, WorkerId, WorkerId) {
    const UnitRef next = pool.pool().FirstWaiting(unit.stream);
    if (!next.valid()) return;
    EXPECT_GT(pool.pool().unit(next).spec.unit.index, unit.index);
  };
  for (int late = 0; late < 4; ++late) {
    for (int run = 0; run < 8; ++run) {
      for (std::uint64_t stream = 0; stream < 12; ++stream) {
        pool.Submit(stream, 4 * run + late, 1000 + 100 * stream);
      }
      if (run % 3 == 0) pool.FinishNext();
    }
  }
  pool.FinishAll();
  std::set<UnitId> assigned;
  for (const auto& assignment : pool.assignments()) assigned.insert(assignment.unit);
  EXPECT_EQ(assigned.size(), 384U);
  EXPECT_EQ(pool.assignments().size(), 384U);
  EXPECT_EQ(pool.reports().size(), 384U);
  EXPECT_EQ(pool.pool().waiting_bytes(), 0U);
  EXPECT_TRUE(pool.dispatcher().empty());
}

// What failed may belong behind units that came late. Of run queues and without.
TEST_P(EveryPolicyTest, LinesUpWhatFailedByIndexAsWell) {
  for (const int bound : {1, 2, 0}) {
    VirtualPool pool({.topology = "core:2 pu:1", .policy = GetParam(), .run_queue_units = bound});
    pool.outcome = [](const Ticket& ticket) {
      const bool fails = ticket.report.attempt == 0 && ticket.report.unit.index.value == 8;
      return fails ? JobOutcome::kFailed : JobOutcome::kDone;
    };
    pool.service_time = [](const Ticket& ticket) {
      return std::chrono::milliseconds(ticket.report.unit.index.value == 5 ? 20 : 10);
    };
    pool.Submit(1, 5);
    pool.Submit(1, 8);
    pool.Submit(1, 2);
    ASSERT_TRUE(pool.FinishNext());
    pool.Submit(1, 6);
    pool.FinishAll();
    EXPECT_EQ(pool.reports().size(), 4U);
    EXPECT_TRUE(pool.dispatcher().empty());
  }
}

TEST_P(EveryPolicyTest, KeepsRunQueuesBounded) {
  for (const int bound : {1, 2, 3}) {
    VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = GetParam(), .run_queue_units = bound});
    for (int index = 0; index < 20; ++index) {
      for (std::uint64_t stream = 0; stream < 8; ++stream) pool.Submit(stream, index);
    }
    for (int w = 0; w < 8; ++w) EXPECT_LE(pool.pool().units_of(WorkerId{w}), bound);
    pool.FinishAll();
    EXPECT_EQ(pool.reports().size(), 160U);
  }
}

TEST_P(EveryPolicyTest, GivesTheSameAnswersAgain) {
  const auto run = [&] {
    VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = GetParam()});
    for (int index = 0; index < 10; ++index) {
      for (std::uint64_t s = 0; s < 9; ++s) pool.Submit(s, index, 500 + 37 * s);
    }
    pool.FinishAll();
    std::vector<int> workers;
    for (const auto& assignment : pool.assignments()) workers.push_back(assignment.worker);
    return workers;
  };
  EXPECT_EQ(run(), run());
}

// --- Work conserving policies
// ----------------------------------------------------------------------

class WorkConservingTest : public testing::TestWithParam<std::string> {
 protected:
  // The pool with an eye on what the policy promises.
  void ExpectNobodyIdleWhileUnitsWait(VirtualPool& pool) const {
    const auto promise =
        std::ranges::find(Policies(), GetParam(), &PolicyEntry::name)->work_conserving;
    do {
      bool waits = pool.pool().waiting_units() > 0;
      for (int w = 0; w < pool.worker_count() && promise == WorkConserving::kAll; ++w) {
        waits = waits || pool.pool().units_of(WorkerId{w}) > 1;
      }
      if (!waits) continue;
      ASSERT_EQ(pool.busy_workers(), pool.worker_count());
    } while (pool.FinishNext());
  }
};

std::vector<std::string> WorkConservingNames() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : Policies()) {
    if (entry.work_conserving != WorkConserving::kNo) names.emplace_back(entry.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Policies, WorkConservingTest, testing::ValuesIn(WorkConservingNames()),
                         kPolicyTestName);

TEST_P(WorkConservingTest, OneStreamKeepsEveryWorkerBusy) {
  for (const char* topology : {"core:2 pu:1", kTwoByTwoByTwo, "pack:2 l3:2 core:4 pu:2"}) {
    VirtualPool pool({.topology = topology, .policy = GetParam()});
    for (int index = 0; index < 500; ++index)
      pool.Submit(42, index, static_cast<std::size_t>(800 + index % 7 * 400));
    pool.service_time = [](const Ticket& ticket) {
      return std::chrono::microseconds(1000 + 700 * (ticket.report.unit.index.value % 5));
    };
    ExpectNobodyIdleWhileUnitsWait(pool);
    EXPECT_EQ(pool.reports().size(), 500U);
  }
}

TEST_P(WorkConservingTest, TwentyStreamsKeepEveryWorkerBusy) {
  for (const char* topology : {"core:2 pu:1", kTwoByTwoByTwo}) {
    VirtualPool pool({.topology = topology, .policy = GetParam()});
    for (int index = 0; index < 40; ++index) {
      for (std::uint64_t stream = 0; stream < 20; ++stream) {
        pool.Submit(stream, index, 500 << (stream % 4));
      }
    }
    pool.service_time = [](const Ticket& ticket) {
      return std::chrono::microseconds(500 << (ticket.report.unit.stream.value % 4));
    };
    ExpectNobodyIdleWhileUnitsWait(pool);
    EXPECT_EQ(pool.reports().size(), 800U);
  }
}

// Streams and classes come and go in bursts.
TEST_P(WorkConservingTest, ClassesLeaveNoWorkerIdle) {
  PolicyOptions options;
  options.classes = ParseClasses("a:5:0.2:0:20,b:3,c:1:0:1").value();
  for (const char* topology : {"core:2 pu:1", "core:5 pu:1", kTwoByTwoByTwo}) {
    VirtualPool pool({.topology = topology, .policy = GetParam(), .options = options});
    pool.complete_spec = [](JobSpec& spec) {
      spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 3);
    };
    pool.service_time = [](const Ticket& ticket) {
      return std::chrono::microseconds(500 << (ticket.report.unit.stream.value % 4));
    };
    for (std::uint64_t burst = 0; burst < 30; ++burst) {
      for (std::uint64_t stream = burst % 7; stream < 20; stream += 1 + burst % 3) {
        pool.Submit(stream, static_cast<std::int64_t>(burst), 500 << (stream % 4));
      }
      if (burst % 3 == 2) ExpectNobodyIdleWhileUnitsWait(pool);
    }
  }
}

// Each stream is taught where it runs first; there is always work for workers where it is cold.
TEST_P(WorkConservingTest, ContextsThatAreDearToOpenLeaveNoWorkerIdle) {
  for (const char* topology : {"core:2 pu:1", kTwoByTwoByTwo}) {
    VirtualPool pool({.topology = topology, .policy = GetParam()});
    std::set<std::pair<int, std::uint64_t>> warm;
    pool.opening_time = [&warm](const Ticket& ticket) {
      const bool is_new =
          warm.emplace(ticket.report.worker.value, ticket.report.unit.stream.value).second;
      return std::chrono::milliseconds(is_new ? 100 : 0);
    };
    pool.service_time = [](const Ticket&) { return std::chrono::milliseconds(1); };
    for (std::uint64_t stream = 1; stream <= 5; ++stream) {
      pool.Submit(stream, 0);
      pool.FinishAll();
      for (int index = 1; index <= 40; ++index) pool.Submit(stream, index);
      ExpectNobodyIdleWhileUnitsWait(pool);
    }
    EXPECT_EQ(pool.reports().size(), 5U * 41);
  }
}

// --- The adaptive family
// ---------------------------------------------------------------------------

class HashPolicyTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Policies, HashPolicyTest, testing::Values("h-cahrw", "ca-ahrw", "hrw"),
                         kPolicyTestName);

TEST_P(HashPolicyTest, SendsEveryStreamHomeOnAnIdleMachine) {
  for (const char* topology : {kTwoByTwoByTwo, "pack:2 l3:3 core:3 pu:2", "core:5 pu:1"}) {
    VirtualPool pool({.topology = topology, .policy = GetParam()});
    for (std::uint64_t stream = 0; stream < 500; ++stream) {
      pool.Submit(stream, 0);
      pool.FinishAll();
    }
    for (const auto& assignment : pool.assignments()) EXPECT_EQ(assignment.worker, assignment.home);
    EXPECT_EQ(pool.dispatcher().counters().assigned_elsewhere, 0U);
  }
}

TEST(TreeHomeTest, IsTheTreesOwnAndNotThatOfTheFlatHash) {
  VirtualPool tree({.topology = kTwoByTwoByTwo, .policy = "h-cahrw"});
  VirtualPool flat({.topology = kTwoByTwoByTwo, .policy = "hrw"});
  int agree = 0;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) {
    tree.Submit(stream, 0);
    flat.Submit(stream, 0);
    tree.FinishAll();
    flat.FinishAll();
    agree += tree.WorkerOf(stream, 0) == flat.WorkerOf(stream, 0) ? 1 : 0;
  }
  EXPECT_LT(agree, 400);
}

// The tree's rules say nothing of a policy without one.
TEST(FlatHomeTest, GpsHrwHasThatOfHrw) {
  PolicyOptions options;
  options.node_ids = NodeIdRule::kPerLevel;
  VirtualPool shares({.topology = kTwoByTwoByTwo, .policy = "gps-hrw", .options = options});
  VirtualPool flat({.topology = kTwoByTwoByTwo, .policy = "hrw"});
  for (std::uint64_t stream = 0; stream < 1000; ++stream) {
    for (VirtualPool* pool : {&shares, &flat}) {
      pool->Submit(stream, 0);
      pool->FinishAll();
    }
    ASSERT_EQ(shares.assignments().back().home, flat.assignments().back().home);
  }
}

// The smallest queue that is not empty, as one of the sources prints it: the least loaded busy
// worker has weight 1 like the idle ones, so the hash alone decides and everything goes home.
TEST(NonZeroMinimumTest, PutsOneStreamOnOneWorker) {
  for (const char* topology : {"core:2 pu:1", kTwoByTwoByTwo}) {
    for (const char* policy : {"ca-ahrw", "h-cahrw"}) {
      const auto workers_used = [&](MinimumRule rule) {
        PolicyOptions options;
        options.minimum = rule;
        VirtualPool pool(
            {.topology = topology, .policy = policy, .run_queue_units = 0, .options = options});
        for (int index = 0; index < 2000; ++index) pool.Submit(7, index);
        std::set<int> used;
        for (const auto& assignment : pool.assignments()) used.insert(assignment.worker);
        return static_cast<int>(used.size());
      };
      const VirtualPool shape({.topology = topology});
      EXPECT_EQ(workers_used(MinimumRule::kNonZero), 1);
      EXPECT_EQ(workers_used(MinimumRule::kPlain), shape.worker_count());
    }
  }
}

TEST(ParentQueueTest, IsZeroIfAnyChildIsSoThatADeepIdleWorkerIsFound) {
  VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = "h-cahrw"});
  for (int index = 0; index < 8; ++index) pool.Submit(1, index);
  EXPECT_EQ(pool.busy_workers(), 8) << "each of the eight went to an idle worker";
}

// Not counting the running unit makes a busy worker with an empty queue look idle.
TEST(RunningRuleTest, AsPrintedQueuesBehindABusyWorkerWhileOthersAreIdle) {
  PolicyOptions options;
  options.running = RunningRule::kNotCounted;
  VirtualPool printed({.topology = kTwoByTwoByTwo, .policy = "ca-ahrw", .options = options});
  VirtualPool counted({.topology = kTwoByTwoByTwo, .policy = "ca-ahrw"});
  for (VirtualPool* pool : {&printed, &counted}) {
    pool->Submit(1, 0);
    pool->Submit(1, 1);
  }
  EXPECT_EQ(printed.busy_workers(), 1);
  EXPECT_EQ(counted.busy_workers(), 2);
}

TEST(CaAhrwTest, PrefersTheHomeAndItsNeighboursWhenAllAreEquallyBusy) {
  PolicyOptions options;
  options.ratios.levels = XeonE5335Ratios();
  VirtualPool pool({.topology = kXeonE5335Synthetic,
                    .policy = "ca-ahrw",
                    .run_queue_units = 0,
                    .options = options});
  // Fill all workers to about the same level, then see where single units go.
  for (int index = 0; index < 400; ++index) pool.Submit(1'000'000, index);
  int at_home = 0;
  int other_socket = 0;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) {
    pool.Submit(stream, 0, 1);
    const auto& last = pool.assignments().back();
    at_home += last.worker == last.home ? 1 : 0;
    other_socket += last.worker / 4 != last.home / 4 ? 1 : 0;
  }
  EXPECT_GT(at_home, 250);
  EXPECT_LT(other_socket, 200);
}

TEST(CaAhrwTest, BothNumeratorsOfTheWeightChooseTheSame) {
  const auto run = [](WeightRule rule) {
    PolicyOptions options;
    options.weight = rule;
    VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = "ca-ahrw", .options = options});
    for (int index = 0; index < 50; ++index) {
      for (std::uint64_t s = 0; s < 10; ++s) pool.Submit(s, index, 300 + 91 * s);
    }
    pool.FinishAll();
    std::vector<int> workers;
    for (const auto& assignment : pool.assignments()) workers.push_back(assignment.worker);
    return workers;
  };
  EXPECT_EQ(run(WeightRule::kWeightedMinimum), run(WeightRule::kPrintedMinimum))
      << "they differ by a factor common to all candidates";
}

// --- The simple ones
// -------------------------------------------------------------------------------

TEST(HrwTest, NeverLeavesTheHomeHoweverLongTheQueue) {
  VirtualPool pool({.topology = kTwoByTwoByTwo, .policy = "hrw"});
  for (int index = 0; index < 50; ++index) pool.Submit(3, index);
  EXPECT_EQ(pool.busy_workers(), 1);
  pool.FinishAll();
  for (const auto& assignment : pool.assignments()) EXPECT_EQ(assignment.worker, assignment.home);
}

TEST(SmTest, MapsByTheNumberOfTheStream) {
  VirtualPool pool({.topology = "core:3 pu:1", .policy = "sm"});
  for (std::uint64_t stream = 100; stream < 107; ++stream) {
    pool.Submit(stream, 0);
    pool.FinishAll();
    EXPECT_EQ(pool.WorkerOf(stream, 0), static_cast<int>(stream - 100) % 3);
  }
}

TEST(RrTest, TakesTheWorkersInTurn) {
  VirtualPool pool({.topology = "core:3 pu:1", .policy = "rr"});
  for (int index = 0; index < 6; ++index) {
    pool.Submit(5, index);
    EXPECT_EQ(pool.WorkerOf(5, index), index % 3);
  }
}

TEST(FifoTest, StartsUnitsInTheOrderOfArrivalAndBindsThemLate) {
  VirtualPool pool({.topology = "core:3 pu:1", .policy = "fifo"});
  for (std::uint64_t stream = 0; stream < 20; ++stream) pool.Submit(stream, 0);
  EXPECT_EQ(pool.assignments().size(), 3U) << "nothing is put behind a running unit";
  pool.FinishAll();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(pool.assignments()[i].unit.stream, StreamId{i});
  }
}

TEST(FifoTest, TakesTheWorkerThatHasBeenIdleForLongest) {
  VirtualPool pool({.topology = "core:3 pu:1", .policy = "fifo"});
  for (std::uint64_t stream = 0; stream < 3; ++stream) pool.Submit(stream, 0);
  pool.FinishOn(2);
  pool.FinishOn(0);
  pool.Submit(10, 0);
  EXPECT_EQ(pool.WorkerOf(10, 0), 2);
}

}  // namespace
}  // namespace gopmill
