// SPDX-License-Identifier: Apache-2.0
//
// gopmill's own policy: where streams stay, when they move, and what nobody has to pay for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

// Workers on which opening a stream's context takes `opening` and a run takes `run`.
struct WarmPool {
  WarmPool(const char* topology, milliseconds run, milliseconds opening,
           const PolicyOptions& options = {})
      : pool({.topology = topology, .policy = "hearth", .options = options}) {
    pool.service_time = [this, run, opening](const Ticket& ticket) {
      const auto key = std::pair{ticket.report.worker.value, ticket.report.unit.stream.value};
      return warm[key]++ > 0 ? run : run + opening;
    };
  }
  // Runs units of the stream one by one; the worker of the last.
  int Teach(std::uint64_t stream, int units = 4) {
    for (int i = 0; i < units; ++i) {
      Submit(stream);
      pool.FinishAll();
    }
    return pool.assignments().back().worker;
  }
  void Submit(std::uint64_t stream) { pool.Submit(stream, next[stream]++); }
  [[nodiscard]] std::uint64_t LastAssigned() const {
    return pool.assignments().back().unit.stream.value;
  }

  VirtualPool pool;
  std::map<std::pair<int, std::uint64_t>, int> warm;
  std::map<std::uint64_t, std::int64_t> next;
};

// Streams by the worker where they are warm.
std::map<int, std::vector<std::uint64_t>> TeachStreams(WarmPool& warm, std::uint64_t streams) {
  std::map<int, std::vector<std::uint64_t>> at;
  for (std::uint64_t s = 1; s <= streams; ++s) at[warm.Teach(s)].push_back(s);
  return at;
}

// Stream 2 has the only worker warm for itself and asks for more than it can do; stream 1 has
// waited for it when a unit comes that belongs in front of the one that waits.
TEST(HearthTest, AUnitThatComesLateWaitsForAsLongAsItsLine) {
  const auto first_of_the_line = [](bool late) {
    PolicyOptions options;
    options.contexts_per_worker = 1;
    VirtualPool pool({.topology = "core:1 pu:1", .policy = "hearth", .options = options});
    pool.opening_time = [](const Ticket&) { return milliseconds(2); };
    pool.Submit(1, 0);
    pool.FinishAll();
    pool.service_time = [](const Ticket&) { return milliseconds(1000); };
    pool.Submit(2, 0);
    pool.service_time = [](const Ticket&) { return milliseconds(10); };
    pool.Submit(1, 8);
    const std::size_t from = pool.assignments().size();
    for (int i = 1; i <= 40; ++i) {
      pool.Submit(2, i);
      pool.FinishUntil(pool.now() + milliseconds(20));
    }
    if (late) pool.Submit(1, 1);
    pool.FinishAll();
    const std::span assigned = std::span(pool.assignments()).subspan(from);
    const auto at = std::ranges::find(
        assigned, StreamId{1}, [](const auto& assignment) { return assignment.unit.stream; });
    EXPECT_EQ(at->unit.index.value, late ? 1 : 8);
    return at - assigned.begin();
  };
  EXPECT_EQ(first_of_the_line(true), first_of_the_line(false));
  EXPECT_LT(first_of_the_line(true), 20);
}

TEST(HearthTest, AStreamStaysWhereItRanLastWhileThatWorkerIsIdle) {
  WarmPool warm("pack:2 core:4 pu:1", milliseconds(10), milliseconds(2));
  const int first = warm.Teach(7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(warm.Teach(7, 1), first);
}

TEST(HearthTest, WhenItsWorkerIsBusyItGoesToTheNearestIdleOne) {
  WarmPool warm("pack:4 core:2 pu:1", milliseconds(10), milliseconds(2));
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    const int hearth = warm.Teach(stream, 1);
    warm.Submit(stream);  // keeps the hearth busy
    warm.Submit(stream);
    EXPECT_EQ(warm.pool.assignments().back().worker, hearth ^ 1) << "the other core of its package";
    warm.pool.FinishAll();
  }
}

// With `running=not-counted`, which is for other rules, a worker with nothing but a running unit
// has an empty queue.
TEST(HearthTest, AWorkerWithARunningUnitIsNeverIdle) {
  for (const int run_queue_units : {0, 1, 2}) {
    PolicyOptions options;
    options.running = RunningRule::kNotCounted;
    VirtualPool pool({.topology = "pack:2 core:2 pu:1",
                      .policy = "hearth",
                      .run_queue_units = run_queue_units,
                      .options = options});
    for (int i = 0; i < 6; ++i) pool.Submit(1, i);
    EXPECT_EQ(pool.busy_workers(), 4);
    EXPECT_EQ(pool.assignments().size(), 4U) << "nothing is queued behind a running unit";
  }
}

TEST(HearthTest, AStreamThatMovedStaysWhereItWent) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(2));
  const int hearth = warm.Teach(1);
  warm.Submit(1);
  warm.Submit(1);  // goes to the other worker
  const int moved_to = warm.pool.assignments().back().worker;
  ASSERT_NE(moved_to, hearth);
  warm.pool.FinishAll();
  EXPECT_EQ(warm.Teach(1, 1), moved_to);
}

TEST(HearthTest, AFreeWorkerPrefersItsOwnStreamsToSlightlyOlderUnits) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(5));
  auto at = TeachStreams(warm, 12);
  ASSERT_GE(at[0].size(), 2U);
  ASSERT_GE(at[1].size(), 2U);
  warm.Submit(at[0][0]);
  warm.Submit(at[1][0]);  // both workers are busy now
  warm.Submit(at[0][1]);
  warm.Submit(at[1][1]);
  warm.pool.FinishOn(1);
  EXPECT_EQ(warm.LastAssigned(), at[1][1]) << "although the other is older";
}

// Of those that wait for it: the oldest that may go, not the oldest alone.
TEST(HearthTest, AFreeWorkerLooksBehindItsOldestUnitThatWouldOvertake) {
  PolicyOptions options;
  options.contexts_per_worker = 1;
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(0), options);
  auto at = TeachStreams(warm, 12);
  ASSERT_GE(at[0].size(), 2U);
  ASSERT_GE(at[1].size(), 1U);
  const std::uint64_t split = at[0][0], cheap = at[0][1], own = at[1][0];
  const auto is_long = [&](UnitId unit) {
    return unit.stream.value == split && unit.index.value == 4;
  };
  warm.pool.service_time = [&](const Ticket& ticket) {
    return milliseconds(is_long(ticket.report.unit) ? 400 : 10);
  };
  warm.pool.complete_spec = [&](JobSpec& spec) { spec.frames = is_long(spec.unit) ? 1200 : 30; };
  warm.pool.opening_time = [&](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value == own ? 5 : 0);
  };
  for (const std::uint64_t stream : {own, cheap}) EXPECT_EQ(warm.Teach(stream), stream == own);
  warm.Submit(split);  // the long one, on worker 0
  warm.Submit(split);  // on worker 1, which is its hearth now
  warm.Submit(split);  // would be done before the long one
  warm.Submit(cheap);  // opens its contexts anywhere at once
  warm.Submit(own);
  warm.pool.FinishOn(1);
  EXPECT_EQ(warm.LastAssigned(), own);
}

// Streams 2k and 2k + 1 need the same context, of which a worker keeps one.
struct PairsPool : WarmPool {
  explicit PairsPool(const char* topology)
      : WarmPool(topology, milliseconds(10), milliseconds(5), {.contexts_per_worker = 1}) {
    pool.complete_spec = [](JobSpec& spec) { spec.context = spec.unit.stream.value / 2; };
    pool.service_time = [](const Ticket&) { return milliseconds(10); };
    pool.opening_time = [](const Ticket&) { return milliseconds(5); };
  }
};

TEST(HearthTest, OfTheStreamsThatShareAContextTheOldestUnitGoesFirst) {
  PairsPool pairs("core:1 pu:1");
  for (const std::uint64_t stream : {4U, 2U, 3U}) pairs.Teach(stream);
  pairs.Submit(2);
  pairs.Submit(4);
  pairs.Submit(3);
  pairs.Submit(2);
  pairs.pool.FinishNext();
  EXPECT_EQ(pairs.LastAssigned(), 3U) << "warm, and there before the next unit of stream 2";
}

// The next unit of a stream, which came late, does not hide one of another stream.
TEST(HearthTest, AUnitThatSharesAContextIsFoundBehindOneThatCameTooLate) {
  PairsPool pairs("core:1 pu:1");
  for (const std::uint64_t stream : {4U, 2U, 3U}) pairs.Teach(stream);
  pairs.Submit(2);
  for (const std::uint64_t stream : {4U, 2U, 3U}) pairs.Submit(stream);
  pairs.pool.FinishUntil(pairs.pool.now() + milliseconds(20));
  ASSERT_EQ(pairs.LastAssigned(), 2U);
  pairs.Submit(2);  // later than the unit of stream 4 has patience for
  pairs.pool.FinishNext();
  EXPECT_EQ(pairs.LastAssigned(), 3U);
}

// A next unit that would be done before its stream's running one is passed over, and not the other
// streams that need its context as well.
TEST(HearthTest, AUnitThatSharesAContextIsFoundBehindOneThatWouldOvertake) {
  PairsPool pairs("core:2 pu:1");
  const auto is_long = [](UnitId unit) { return unit.stream.value == 2 && unit.index.value == 4; };
  pairs.pool.service_time = [&](const Ticket& ticket) {
    return milliseconds(is_long(ticket.report.unit) ? 400 : 10);
  };
  pairs.pool.complete_spec = [&](JobSpec& spec) {
    spec.context = spec.unit.stream.value / 2;
    spec.frames = is_long(spec.unit) ? 1200 : 30;
  };
  for (const std::uint64_t stream : {2U, 3U, 4U, 5U}) pairs.Teach(stream);
  pairs.Submit(2);  // the long one
  const int other = 1 - pairs.pool.assignments().back().worker;
  pairs.Submit(3);  // opens the context on the other worker
  ASSERT_EQ(pairs.pool.assignments().back().worker, other);
  for (const std::uint64_t stream : {4U, 2U, 3U}) pairs.Submit(stream);
  pairs.pool.FinishOn(other);
  EXPECT_EQ(pairs.LastAssigned(), 3U);
}

// Whatever comes and is cancelled: where nothing can be overtaken (one worker), units that need one
// context go in the order in which they came to the head of their lines.
TEST(HearthTest, UnitsThatShareAContextGoInOrderOfArrival) {
  std::mt19937 random(7);
  const auto draw = [&random](unsigned below) { return random() % below; };
  PairsPool pairs("core:1 pu:1");
  pairs.pool.complete_spec = [](JobSpec& spec) { spec.context = 1 + spec.unit.stream.value % 3; };
  int compared = 0;
  pairs.pool.on_assigned = [&](UnitId id, WorkerId worker, WorkerId) {
    const PoolState& pool = pairs.pool.pool();
    const Unit& taken = pool.unit(pool.FindOn(worker, id));
    for (UnitRef ref = pool.OldestHead(); ref.valid(); ref = pool.NextHead(ref)) {
      const Unit& waiting = pool.unit(ref);
      // Its own stream's next unit only came to the head by this.
      if (waiting.context != taken.context || waiting.spec.unit.stream == id.stream) continue;
      ++compared;
      EXPECT_GT(waiting.place.sequence, taken.place.sequence);
    }
  };
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t stream = 1 + draw(24);
    if (draw(16) == 0) {
      pairs.pool.Cancel(stream);
    } else {
      pairs.Submit(stream);
    }
    if (draw(20) > 0) pairs.pool.FinishNext();
  }
  pairs.pool.FinishAll();
  EXPECT_GT(compared, 500);
}

TEST(HearthTest, NoUnitIsOvertakenForLong) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(1));
  auto at = TeachStreams(warm, 20);
  ASSERT_GE(at[0].size(), 2U);
  ASSERT_GE(at[1].size(), 2U);
  const std::uint64_t endless = at[0][1];
  const std::uint64_t victim = at[0][0];
  warm.pool.service_time = [&](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value == endless ? 100'000 : 10);
  };
  // Worker 0 is busy for good, worker 1 has a flood of its own streams.
  warm.Submit(endless);
  warm.Submit(at[1][0]);
  warm.Submit(victim);
  const TimePoint submitted = warm.pool.now();
  const std::int64_t index = warm.next[victim] - 1;
  for (int i = 0; i < 200 && warm.pool.WorkerOf(victim, index) < 0; ++i) {
    for (const std::uint64_t s : at[1]) warm.Submit(s);
    warm.pool.FinishOn(1);
  }
  EXPECT_EQ(warm.pool.WorkerOf(victim, index), 1) << "stolen";
  EXPECT_LE(warm.pool.now() - submitted, milliseconds(130)) << "twelve runs and a bit";
}

TEST(HearthTest, DoesNotStartAStreamsNextUnitBesideALongerOneWhileOthersWait) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(1));
  warm.pool.service_time = [](const Ticket& ticket) {
    // Unit 5 of stream 1 is predicted to take long: it has forty times the frames.
    return milliseconds(ticket.report.unit.index.value == 5 ? 400 : 10);
  };
  warm.pool.complete_spec = [](JobSpec& spec) {
    spec.frames = spec.unit.index.value == 5 ? 1200 : 30;
  };
  warm.Teach(1, 5);
  warm.Teach(2, 4);
  warm.Teach(3, 4);
  warm.Submit(1);  // the long one
  warm.Submit(2);
  const int busy_for_long = warm.pool.WorkerOf(1, 5);
  warm.Submit(1);
  warm.Submit(3);
  warm.pool.FinishOn(1 - busy_for_long);
  EXPECT_EQ(warm.LastAssigned(), 3U) << "stream 1 would be out of order";
}

// Even for one that came later than patience allows: who is passed over loses nothing by it.
TEST(HearthTest, PassesOverAUnitThatWouldOvertakeHoweverLateTheOthersCame) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(0));
  const auto is_long = [](UnitId unit) { return unit.stream.value == 1 && unit.index.value == 4; };
  warm.pool.service_time = [&](const Ticket& ticket) {
    return milliseconds(is_long(ticket.report.unit) ? 400 : 10);
  };
  warm.pool.complete_spec = [&](JobSpec& spec) { spec.frames = is_long(spec.unit) ? 1200 : 30; };
  for (const std::uint64_t stream : {1U, 2U, 3U}) warm.Teach(stream, 4);
  warm.Submit(1);  // the long one
  const int other = 1 - warm.pool.WorkerOf(1, 4);
  warm.Submit(2);
  warm.Submit(1);  // would be done long before the one that runs
  warm.Submit(2);
  warm.pool.FinishOn(other);
  EXPECT_EQ(warm.LastAssigned(), 2U);
  warm.Submit(3);
  warm.pool.FinishOn(other);
  EXPECT_EQ(warm.LastAssigned(), 3U);
  warm.pool.FinishOn(other);
  EXPECT_EQ(warm.LastAssigned(), 1U) << "nobody else waits, and no worker idles";
}

TEST(HearthTest, AUnitThatRunsAgainDoesNotOvertakeItsSuccessors) {
  WarmPool warm("core:3 pu:1", milliseconds(10), milliseconds(0));
  const auto is = [](UnitId unit, std::int64_t index) {
    return unit.stream.value == 1 && unit.index.value == index;
  };
  warm.pool.service_time = [&](const Ticket& ticket) {
    return milliseconds(is(ticket.report.unit, 5) ? 400 : 10);
  };
  warm.pool.complete_spec = [&](JobSpec& spec) { spec.frames = is(spec.unit, 5) ? 1200 : 30; };
  warm.pool.outcome = [&](const Ticket& ticket) {
    const bool fails = is(ticket.report.unit, 4) && ticket.report.attempt == 0;
    return fails ? JobOutcome::kFailed : JobOutcome::kDone;
  };
  for (const std::uint64_t stream : {1U, 2U, 3U}) warm.Teach(stream, 4);
  warm.Submit(1);  // fails
  warm.Submit(1);  // takes long
  warm.Submit(2);
  warm.Submit(3);  // waits
  const int failed_on = warm.pool.WorkerOf(1, 4);
  const int free_next = warm.pool.WorkerOf(2, 4);
  warm.pool.FinishOn(failed_on);  // takes stream 3
  warm.Submit(2);
  warm.pool.FinishOn(free_next);
  EXPECT_EQ(warm.pool.WorkerOf(1, 4), free_next) << "it is the oldest, whatever it is shorter than";
}

TEST(HearthTest, SurvivesTheLossOfAHearth) {
  WarmPool warm("core:2 pu:1", milliseconds(10), milliseconds(1));
  const int hearth = warm.Teach(1);
  warm.pool.SetAvailable(hearth, false);
  EXPECT_EQ(warm.Teach(1, 1), 1 - hearth);
  warm.pool.SetAvailable(hearth, true);
  EXPECT_EQ(warm.Teach(1, 1), 1 - hearth) << "it is warm there now";
}

// Waiting is bought with time saved, but not with a live stream's.
TEST(HearthTest, AUnitThatIsDueGoesBeforeAnyWarmOneThatIsNot) {
  WarmPool warm("core:1 pu:1", milliseconds(10), milliseconds(50));
  warm.Teach(1);
  warm.pool.complete_spec = [&](JobSpec& spec) {
    if (spec.unit.stream.value == 2) spec.deadline = warm.pool.now() + milliseconds(500);
  };
  warm.Submit(1);  // runs
  warm.Submit(1);  // is warm, waits and came first
  warm.Submit(2);  // is cold
  warm.pool.FinishOn(0);
  EXPECT_EQ(warm.LastAssigned(), 2U);
  warm.pool.FinishOn(0);
  EXPECT_EQ(warm.LastAssigned(), 1U) << "what is not due is not lost";
}

}  // namespace
}  // namespace gopmill
