// SPDX-License-Identifier: Apache-2.0
//
// What sets each policy of the family apart from the others, on virtual workers.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "scheduler/worker_layout.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

constexpr const char* kFour = "core:4 pu:1";

// The workers each stream ran on.
std::map<std::uint64_t, std::set<int>> WorkersByStream(const VirtualPool& pool) {
  std::map<std::uint64_t, std::set<int>> workers;
  for (const auto& each : pool.assignments()) workers[each.unit.stream.value].insert(each.worker);
  return workers;
}

void SubmitRounds(VirtualPool& pool, int rounds, std::uint64_t streams) {
  for (int index = 0; index < rounds; ++index) {
    for (std::uint64_t s = 0; s < streams; ++s) pool.Submit(s, index, 1000 + 500 * s);
  }
}

class StickyTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, StickyTest, testing::Values("conn", "wired", "sm", "hrw"));

TEST_P(StickyTest, AStreamStaysOnOneWorker) {
  VirtualPool pool({.topology = kFour, .policy = GetParam()});
  SubmitRounds(pool, 20, 9);
  pool.FinishAll();
  for (const auto& [stream, workers] : WorkersByStream(pool)) EXPECT_EQ(workers.size(), 1U);
}

TEST(ConnTest, ANewStreamGoesToTheShortestQueueAndStaysThereAfterAPause) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "conn"});
  pool.Submit(1, 0, 5000);
  pool.Submit(2, 0, 100);
  EXPECT_NE(pool.WorkerOf(1, 0), pool.WorkerOf(2, 0));
  pool.Submit(3, 0, 100);
  EXPECT_EQ(pool.WorkerOf(3, 0), pool.WorkerOf(2, 0)) << "the shorter of the two queues";
  pool.FinishAll();
  pool.Submit(2, 1, 100);
  pool.Submit(1, 1, 100);
  EXPECT_EQ(pool.WorkerOf(1, 1), pool.WorkerOf(1, 0));
}

// Run queues of two are full at once; what waits beyond them may run nowhere else.
TEST(ConnTest, WhatWaitsForAWorkerIsInItsQueue) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "conn"});
  for (std::uint64_t s = 0; s < 20; ++s) pool.Submit(s, 0);
  pool.FinishAll();
  std::array<int, 2> got = {};
  for (const auto& each : pool.assignments()) ++got.at(static_cast<std::size_t>(each.worker));
  EXPECT_EQ(got[0], 10);
}

// Bytes would be nothing beside nanoseconds: all would go where less time is queued at first.
TEST(ConnTest, WhatWaitsCountsInLearnedTimeWhereQueuesDo) {
  PolicyOptions options;
  options.measure = QueueMeasure::kPredicted;
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "conn", .options = options});
  pool.service_time = [](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value == 0 ? 40 : 10);
  };
  for (std::uint64_t s = 0; s < 2; ++s) pool.Submit(s, 0);
  pool.FinishAll();
  const int dear = pool.WorkerOf(0, 0);
  for (int index = 1; index < 3; ++index) {
    for (std::uint64_t s = 0; s < 2; ++s) pool.Submit(s, index);
  }
  for (std::uint64_t s = 2; s < 32; ++s) pool.Submit(s, 0);
  pool.FinishAll();
  int beside_the_dear_one = 0;
  for (std::uint64_t s = 2; s < 32; ++s) beside_the_dear_one += pool.WorkerOf(s, 0) == dear ? 1 : 0;
  EXPECT_GT(beside_the_dear_one, 5);
  EXPECT_LT(beside_the_dear_one, 15);
}

TEST(WiredTest, NothingIsQueuedBehindARunningUnit) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "wired"});
  for (int index = 0; index < 6; ++index) pool.Submit(0, index);
  EXPECT_EQ(pool.pool().units_of(WorkerId{0}), 1);
  EXPECT_EQ(pool.pool().units_of(WorkerId{1}), 0) << "wired streams do not spread";
}

// 2^64 - 1 is 0 modulo three. Steps added to it would wrap around, and come to 0 again.
TEST(WiredTest, TheGreatestNumberOfAStreamFindsWhoStandsInAsWell) {
  for (const char* policy : {"wired", "sm"}) {
    VirtualPool pool({.topology = "core:3 pu:1", .policy = policy});
    pool.complete_spec = [](JobSpec& spec) { spec.stream_number = ~std::uint64_t{0}; };
    pool.SetAvailable(0, false);
    pool.SetAvailable(1, false);
    pool.Submit(1, 0);
    EXPECT_EQ(pool.WorkerOf(1, 0), 2) << policy;
  }
}

TEST(SharedQueueTest, MruTakesTheWorkerThatWasBusyLastAndLruTheOther) {
  for (const auto& [policy, expected] : {std::pair{"mru", 1}, std::pair{"lru", 0}}) {
    VirtualPool pool({.topology = "core:2 pu:1", .policy = policy});
    pool.Submit(1, 0);
    pool.Submit(2, 0);
    pool.FinishOn(pool.WorkerOf(1, 0));
    pool.FinishOn(pool.WorkerOf(2, 0));
    pool.Submit(3, 0);
    const int last = pool.WorkerOf(2, 0);
    EXPECT_EQ(pool.WorkerOf(3, 0) == last, expected == 1) << policy;
  }
}

TEST(HybridTest, AFreeWorkerTakesAUnitItIsWarmForBeforeAnOlderOne) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "hybrid"});
  pool.Submit(1, 0);
  pool.Submit(2, 0);
  const int warm_for_2 = pool.WorkerOf(2, 0);
  pool.Submit(1, 1);
  pool.Submit(2, 1);
  pool.FinishOn(warm_for_2);
  EXPECT_EQ(pool.WorkerOf(2, 1), warm_for_2);
  EXPECT_EQ(pool.WorkerOf(1, 1), -1) << "the older one waits for its own worker";
}

TEST(P2cTest, SpreadsUnitsAndPrefersTheShorterQueue) {
  VirtualPool pool({.topology = kFour, .policy = "p2c", .run_queue_units = 0});
  for (std::uint64_t s = 0; s < 400; ++s) pool.Submit(s, 0);
  for (int w = 0; w < 4; ++w) EXPECT_NEAR(pool.pool().units_of(WorkerId{w}), 100, 12);
}

TEST(P2cTest, DrawsTwoDifferentWorkers) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "p2c", .run_queue_units = 0});
  std::array<std::uint64_t, 2> queued = {};
  for (std::uint64_t s = 0; s < 1000; ++s) {
    const std::size_t bytes = 1000 + 37 * (s % 53);
    pool.Submit(s, 0, bytes);
    const auto w = static_cast<std::size_t>(pool.assignments().back().worker);
    EXPECT_LE(queued[w], queued[1 - w]) << s;
    queued[w] += bytes;
  }
}

// As without bound: run queues of two are full at once.
TEST(P2cTest, WhatWaitsForAWorkerIsInItsQueue) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "p2c"});
  for (std::uint64_t s = 0; s < 1000; ++s) pool.Submit(s, 0);
  pool.FinishAll();
  std::array<int, 2> got = {};
  for (const auto& each : pool.assignments()) ++got.at(static_cast<std::size_t>(each.worker));
  EXPECT_EQ(got[0], 500);
}

// Idle ones alike, so that the first draw decides.
TEST(P2cTest, WhatAWorkerThatLeftWouldHaveGotSpreadsOverAll) {
  constexpr std::uint64_t kUnits = 7000;
  VirtualPool whole({.topology = "core:8 pu:1", .policy = "p2c"});
  VirtualPool without({.topology = "core:8 pu:1", .policy = "p2c"});
  without.SetAvailable(3, false);
  std::array<int, 8> got = {};
  for (std::uint64_t s = 0; s < kUnits; ++s) {
    for (VirtualPool* pool : {&whole, &without}) {
      pool->Submit(s, 0);
      pool->FinishAll();
    }
    const int worker = without.assignments().back().worker;
    ++got[static_cast<std::size_t>(worker)];
    const int before = whole.assignments().back().worker;
    if (before != 3) {
      EXPECT_EQ(worker, before) << s;
    }
  }
  for (const int w : {0, 1, 2, 4, 5, 6, 7}) {
    EXPECT_NEAR(got[static_cast<std::size_t>(w)], kUnits / 7, 120) << w;
  }
}

TEST(PLlfTest, LearnsWhichStreamsAreExpensive) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "p-llf", .run_queue_units = 0});
  // Streams alike in bytes; the even ones take nine times as long.
  pool.service_time = [](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value % 2 == 0 ? 90 : 10);
  };
  for (int index = 0; index < 5; ++index) {
    for (std::uint64_t s = 0; s < 4; ++s) pool.Submit(s, index);
    pool.FinishAll();
  }
  // One expensive unit on one worker; the cheap ones should all go to the other.
  pool.Submit(0, 5);
  for (int index = 5; index < 9; ++index) pool.Submit(1, index);
  for (int index = 5; index < 9; ++index) EXPECT_NE(pool.WorkerOf(1, index), pool.WorkerOf(0, 5));
}

// With queues as long as 1, 2, 4 and 8 units, new streams go to the workers as 8:4:2:1.
TEST(AhrwTheoryTest, StreamsSpreadAsTheReciprocalsOfTheQueues) {
  std::array<int, 4> won = {};
  constexpr int kStreams = 3000;
  const Topology topology = SyntheticTopology(kFour);
  PoolState state(topology, LayOutWorkers(topology, 4), {.run_queue_units = 0});
  const auto policy = MakePolicy("ahrw-theory", {}, state).value();
  for (int w = 0; w < 4; ++w) {
    const UnitRef unit = state.Add({.unit = {StreamId{std::uint64_t{1} << 40U}, UnitIndex{w}},
                                    .cost_bytes = std::size_t{1000} << static_cast<unsigned>(w)},
                                   nullptr);
    state.Assign(unit, WorkerId{w}, {});
  }
  for (std::uint64_t stream = 0; stream < kStreams; ++stream) {
    const UnitRef unit = state.Add({.unit = {StreamId{stream}, {}}, .cost_bytes = 1}, nullptr);
    state.SetHome(unit, policy->Home(StreamId{stream}, state));
    ActionList actions;
    policy->On(Arrived{unit}, state, {}, actions);
    ASSERT_EQ(actions.actions().size(), 1U);
    ++won[static_cast<std::size_t>(std::get<Assign>(actions.actions()[0]).worker.value)];
  }
  // Four standard deviations of 3,000 draws are at most 110.
  for (int w = 0; w < 4; ++w) {
    EXPECT_NEAR(won[static_cast<std::size_t>(w)], kStreams * (8 >> w) / 15.0, 110) << w;
  }
}

// The published form: distances do not count.
TEST(HAhrwTest, DiffersFromHCahrwOnlyByDistance) {
  PolicyOptions flat;
  flat.ratios.levels = {
      .pu = 1, .core = 1, .l2 = 1, .l3 = 1, .numa = 1, .package = 1, .machine = 1};
  const auto run = [](const char* policy, const PolicyOptions& options) {
    VirtualPool pool({.topology = "pack:2 l2:2 core:2 pu:1", .policy = policy, .options = options});
    SubmitRounds(pool, 15, 13);
    pool.FinishAll();
    std::vector<int> workers;
    for (const auto& each : pool.assignments()) workers.push_back(each.worker);
    return workers;
  };
  EXPECT_EQ(run("h-ahrw", {}), run("h-cahrw", flat));
  EXPECT_NE(run("h-ahrw", {}), run("h-cahrw", {}));
}

TEST(PrintedFormsTest, AParentThatIsZeroOnlyWhenAllChildrenAreHidesIdleWorkers) {
  const auto busy_workers = [](ParentRule rule) {
    PolicyOptions options;
    options.parent = rule;
    VirtualPool pool({.topology = "pack:2 core:4 pu:1", .policy = "h-cahrw", .options = options});
    int least = 8;
    for (int index = 0; index < 400; ++index) pool.Submit(1, index);
    pool.service_time = [](const Ticket& t) {
      return milliseconds(5 + t.report.unit.index.value % 7);
    };
    while (pool.pool().waiting_units() > 0 && pool.FinishNext()) {
      least = std::min(least, pool.busy_workers());
    }
    return least;
  };
  EXPECT_EQ(busy_workers(ParentRule::kAnyIdle), 8);
  EXPECT_LT(busy_workers(ParentRule::kAllIdle), 8);
}

TEST(PrintedFormsTest, ChildrenNumberedPerLevelUseOnlySomeOfTheWorkers) {
  const auto homes = [](NodeIdRule rule) {
    PolicyOptions options;
    options.node_ids = rule;
    VirtualPool pool(
        {.topology = "pack:2 l2:2 core:2 pu:1", .policy = "h-cahrw", .options = options});
    const auto policy = MakePolicy("h-cahrw", options, pool.pool()).value();
    std::set<int> found;
    for (std::uint64_t s = 0; s < 1000; ++s) {
      found.insert(policy->Home(StreamId{s}, pool.pool()).worker.value);
    }
    return found.size();
  };
  EXPECT_EQ(homes(NodeIdRule::kUnique), 8U);
  EXPECT_EQ(homes(NodeIdRule::kPerLevel), 2U);
}

}  // namespace
}  // namespace gopmill
