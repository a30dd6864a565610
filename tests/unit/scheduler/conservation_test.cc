// SPDX-License-Identifier: Apache-2.0
//
// Every job that was submitted is reported exactly once, under every policy, whatever fails, is
// cancelled, leaves or comes back, in whatever order: thousands of random histories.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

constexpr std::uint64_t kHistoryStreams = 12;

struct History {
  VirtualPool& pool;
  std::mt19937 random;
  std::map<std::uint64_t, std::int64_t> next_index = {};
  std::map<std::uint64_t, std::set<std::int64_t>> late = {};  // left out until later ones have come
  std::size_t submitted = 0;

  bool Chance(unsigned percent) { return random() % 100 < percent; }

  void Step() {
    const unsigned kind = static_cast<unsigned>(random() % 100);
    const std::uint64_t stream = random() % kHistoryStreams;
    if (kind < 45) {
      SubmitSomething(stream);
    } else if (kind < 90) {
      FinishSomething();
    } else if (kind < 95) {
      pool.Cancel(stream);
    } else {
      const int worker = static_cast<int>(random() % static_cast<unsigned>(pool.worker_count()));
      pool.SetAvailable(worker, !pool.pool().available(WorkerId{worker}));
    }
  }

  void SubmitSomething(std::uint64_t stream) {
    std::set<std::int64_t>& left_out = late[stream];
    if (Chance(30)) left_out.insert(next_index[stream]++);
    const bool is_late = !left_out.empty() && Chance(50);
    const std::int64_t index =
        is_late ? left_out.extract(left_out.begin()).value() : next_index[stream]++;
    pool.Submit(stream, index, 1 + random() % 5000);
    ++submitted;
  }

  void FinishSomething() {
    const int first = static_cast<int>(random() % static_cast<unsigned>(pool.worker_count()));
    for (int i = 0; i < pool.worker_count(); ++i) {
      const int worker = (first + i) % pool.worker_count();
      if (!pool.busy(worker)) continue;
      pool.FinishOn(worker);
      return;
    }
  }
};

// By index, and by the places of its units.
void CheckLines(const PoolState& pool) {
  for (std::uint64_t stream = 0; stream < kHistoryStreams; ++stream) {
    UnitRef ref = pool.FirstWaiting(StreamId{stream});
    if (ref.valid()) {
      ASSERT_TRUE(pool.IsHead(ref));
    }
    for (UnitRef next; ref.valid() && (next = pool.NextOfStream(ref)).valid(); ref = next) {
      ASSERT_LT(pool.unit(ref).spec.unit.index, pool.unit(next).spec.unit.index);
      ASSERT_LT(pool.unit(ref).place.sequence, pool.unit(next).place.sequence);
      ASSERT_LE(pool.unit(ref).place.since, pool.unit(next).place.since);
      ASSERT_FALSE(pool.IsHead(next));
    }
  }
}

// What is told to wait for a worker is what does.
void CheckHeldLoads(const PoolState& pool) {
  for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
    std::uint64_t held = 0;
    for (UnitRef ref = pool.OldestHeldFor(WorkerId{i}); ref.valid(); ref = pool.NextHeld(ref)) {
      held += pool.unit(ref).load;
    }
    ASSERT_EQ(pool.load_with_held(WorkerId{i}), pool.loads()[static_cast<std::size_t>(i)] + held);
  }
}

void CheckReports(const VirtualPool& pool, std::size_t submitted) {
  ASSERT_EQ(pool.reports().size(), submitted);
  std::map<UnitId, int> times;
  for (const JobReport& report : pool.reports()) {
    ASSERT_EQ(++times[report.unit], 1);
    const int runs = pool.runs(report.unit);
    ASSERT_LE(runs, 2);
    ASSERT_EQ(report.outcome == JobOutcome::kCancelled, runs == 0);
    ASSERT_EQ(report.worker.value >= 0, runs > 0);
    if (runs > 0) {
      ASSERT_EQ(report.attempt, runs - 1);
    }
  }
}

// Twelve streams with units enough for all time, on workers that are warm for a few of them: who is
// warm goes first, but the others have their turns.
TEST(ConservationTest, NoStreamWaitsForTheEndsOfOthers) {
  constexpr int kRuns = 900, kLeast = 5;
  for (const PolicyEntry& entry : Policies()) {
    for (const char* const topology : {"core:1 pu:1", "core:3 pu:1"}) {
      SCOPED_TRACE(std::string(entry.name) + " on " + topology);
      VirtualPool pool({.topology = topology, .policy = std::string(entry.name)});
      pool.service_time = [](const Ticket& ticket) {
        const UnitId& unit = ticket.report.unit;
        const auto more = (7 * unit.stream.value + 3 * static_cast<unsigned>(unit.index.value)) % 5;
        return std::chrono::milliseconds(8 + static_cast<int>(more));
      };
      // A retry may not run where it failed, so workers disagree on which unit is due first.
      pool.outcome = [](const Ticket& ticket) {
        const bool fails = ticket.report.attempt == 0 && ticket.report.unit.index.value == 2;
        return fails ? JobOutcome::kFailed : JobOutcome::kDone;
      };
      std::map<std::uint64_t, int> runs;
      std::map<std::uint64_t, std::int64_t> next_index;
      for (int ahead = 0; ahead < 3; ++ahead) {
        for (std::uint64_t s = 0; s < kHistoryStreams; ++s) pool.Submit(s, next_index[s]++);
      }
      for (int run = 0; run < kRuns; ++run) {
        const std::size_t before = pool.reports().size();
        ASSERT_TRUE(pool.FinishNext());
        for (std::size_t i = before; i < pool.reports().size(); ++i) {
          const std::uint64_t stream = pool.reports()[i].unit.stream.value;
          ++runs[stream];
          pool.Submit(stream, next_index[stream]++);
        }
      }
      for (std::uint64_t s = 0; s < kHistoryStreams; ++s)
        EXPECT_GE(runs[s], kLeast) << "stream " << s;
    }
  }
}

TEST(ConservationTest, EveryJobIsReportedExactlyOnce) {
  const char* const topologies[] = {"core:1 pu:1", "core:2 pu:1", "pack:2 l2:2 core:2 pu:1"};
  const char* const classes[] = {"a:1,b:1", "a:5,b:1,c:4:0.2", "a:1:0:2:20,b:1,c:3,d:2"};
  for (const PolicyEntry& entry : Policies()) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(entry.name) + ", seed " + std::to_string(seed));
      PolicyOptions options;
      if (seed % 5 > 1) options.classes = ParseClasses(classes[seed % 5 - 2]).value();
      VirtualPool pool({.topology = topologies[seed % 3],
                        .policy = std::string(entry.name),
                        .run_queue_units = static_cast<int>(seed / 3 % 4),
                        .options = options});
      pool.complete_spec = [&](JobSpec& spec) {
        spec.service_class =
            static_cast<std::uint16_t>(spec.unit.stream.value % pool.pool().classes().size());
      };
      History history{.pool = pool, .random = std::mt19937(seed)};
      std::map<UnitId, int> failed_on;
      pool.outcome = [&](const Ticket& ticket) {
        if (!history.Chance(25)) return JobOutcome::kDone;
        failed_on[ticket.report.unit] = ticket.report.worker.value;
        return JobOutcome::kFailed;
      };
      pool.on_assigned = [&](UnitId unit, WorkerId worker, WorkerId) {
        ASSERT_TRUE(!failed_on.contains(unit) || failed_on[unit] != worker.value);
        ASSERT_TRUE(pool.pool().available(worker));
      };
      for (int step = 0; step < 400; ++step) {
        history.Step();
        ASSERT_NO_FATAL_FAILURE(CheckLines(pool.pool()));
        ASSERT_NO_FATAL_FAILURE(CheckHeldLoads(pool.pool()));
      }
      for (int w = 0; w < pool.worker_count(); ++w) pool.SetAvailable(w, true);
      if (seed % 2 == 0) pool.Shutdown();
      pool.FinishAll();
      ASSERT_TRUE(pool.dispatcher().empty());
      ASSERT_EQ(pool.pool().waiting_units(), 0U);
      ASSERT_EQ(pool.pool().waiting_bytes(), 0U);
      for (const std::uint64_t load : pool.pool().loads()) ASSERT_EQ(load, 0U);
      ASSERT_EQ(pool.pool().tree().node(0).load, 0U);
      CheckReports(pool, history.submitted);
    }
  }
}

// A unit of the first class fails once. Of the second one more comes in whenever something ends. By
// their rules a worker goes on with what is warm (hybrid), or with a class (cohort), for as long as
// there is any: what they leave waiting need not have failed.
TEST(ConservationTest, NoUnitWaitsForEverForItsSecondRun) {
  for (const PolicyEntry& entry : Policies()) {
    if (entry.name == "hybrid" || entry.name == "cohort") continue;
    for (const char* classes : {"a:1,b:1", "a:1,b:9", "a:9,b:1", "a:1,b:1,c:1"}) {
      SCOPED_TRACE(std::string(entry.name) + ", " + classes);
      PolicyOptions options;
      options.classes = ParseClasses(classes).value();
      VirtualPool pool(
          {.topology = "core:2 pu:1", .policy = std::string(entry.name), .options = options});
      pool.complete_spec = [&](JobSpec& spec) {
        spec.service_class =
            static_cast<std::uint16_t>(spec.unit.stream.value % pool.pool().classes().size());
      };
      pool.outcome = [](const Ticket& ticket) {
        const bool fails = ticket.report.unit == UnitId{StreamId{0}, UnitIndex{0}};
        return fails && ticket.report.attempt == 0 ? JobOutcome::kFailed : JobOutcome::kDone;
      };
      pool.service_time = [](const Ticket& ticket) {
        return std::chrono::milliseconds(5 + (ticket.report.unit.index.value * 7) % 11);
      };
      for (int index = 0; index < 3; ++index) {
        for (std::uint64_t stream = 0; stream < 6; ++stream) pool.Submit(stream, index);
      }
      for (int index = 3; index < 2000 && pool.FinishNext(); ++index) {
        pool.Submit(1, index);
      }
      EXPECT_EQ(pool.ReportsOf(0, 2).size(), 1U);
    }
  }
}

// Of four workers all but one leave in mid-run, one after another, while units keep coming.
std::uint64_t LeftUndoneBy(const std::string& policy, const std::string& classes, int stays) {
  PolicyOptions options;
  options.classes = ParseClasses(classes).value();
  VirtualPool pool({.topology = "pack:2 core:2 pu:1", .policy = policy, .options = options});
  pool.complete_spec = [&](JobSpec& spec) {
    spec.service_class =
        static_cast<std::uint16_t>(spec.unit.stream.value % options.classes.size());
  };
  int index = 0;
  for (int step = 1; step <= 4; ++step) {
    for (int i = 0; i < 5; ++i, ++index) {
      for (std::uint64_t stream = 0; stream < 6; ++stream) pool.Submit(stream, index);
    }
    for (int i = 0; i < 4; ++i) pool.FinishNext();
    if (step < 4) pool.SetAvailable((stays + step) % 4, false);
  }
  pool.FinishAll();
  return pool.pool().waiting_units();
}

TEST(ConservationTest, WhatIsLeftOfTheMachineDoesAllWork) {
  for (const PolicyEntry& entry : Policies()) {
    for (const char* classes : {"a:1,b:1", "a:1,b:9", "a:9,b:1:0:1", "a:1,b:1,c:1:0.2"}) {
      for (int stays = 0; stays < 4; ++stays) {
        EXPECT_EQ(LeftUndoneBy(std::string(entry.name), classes, stays), 0U)
            << entry.name << ", " << classes << ", worker " << stays;
      }
    }
  }
}

}  // namespace
}  // namespace gopmill
