// SPDX-License-Identifier: Apache-2.0
//
// Lines, full workers, cancellation, retries and workers that come and go.
#include "scheduler/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

constexpr const char* kTwoCores = "core:2 pu:1";

// The first stream from `from` on whose home under `hrw` on two workers is `worker`.
std::uint64_t StreamWithHome(int worker, std::uint64_t from = 0) {
  VirtualPool probe({.topology = kTwoCores, .policy = "hrw"});
  for (std::uint64_t stream = from;; ++stream) {
    probe.Submit(stream, 0);
    if (probe.WorkerOf(stream, 0) == worker) return stream;
    probe.FinishAll();
  }
}

TEST(DispatcherTest, AFullWorkerHoldsUpOnlyTheStreamsThatWantIt) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw"});
  const std::uint64_t left = StreamWithHome(0);
  const std::uint64_t right = StreamWithHome(1);
  for (int index = 0; index < 10; ++index) pool.Submit(left, index);
  EXPECT_EQ(pool.pool().waiting_units(), 8U);
  // Arrived last, behind eight units that cannot move, and starts at once.
  pool.Submit(right, 0);
  EXPECT_EQ(pool.WorkerOf(right, 0), 1);
  EXPECT_TRUE(pool.busy(1));
  pool.FinishAll();
  EXPECT_EQ(pool.reports().size(), 11U);
}

TEST(DispatcherTest, HeldUnitsGoInTheOrderOfTheirArrival) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw", .run_queue_units = 1});
  const std::uint64_t a = StreamWithHome(0);
  const std::uint64_t b = StreamWithHome(0, a + 1);
  const std::uint64_t c = StreamWithHome(0, b + 1);
  pool.Submit(a, 0);
  pool.Submit(c, 0);
  pool.Submit(a, 1);
  pool.Submit(b, 0);
  pool.FinishAll();
  std::vector<std::uint64_t> order;
  for (const auto& assignment : pool.assignments()) order.push_back(assignment.unit.stream.value);
  EXPECT_THAT(order, testing::ElementsAre(a, c, a, b));
}

// The line keeps its places between those of other streams.
TEST(DispatcherTest, AUnitThatComesLateGoesBeforeLaterOnesOfItsStream) {
  VirtualPool pool({.topology = "core:1 pu:1", .policy = "fifo"});
  for (const int index : {0, 4, 8}) pool.Submit(1, index);
  pool.Submit(2, 0);
  pool.Submit(1, 1);
  pool.FinishNext();
  pool.Submit(1, 2);
  pool.FinishAll();
  std::vector<UnitId> order;
  for (const auto& assignment : pool.assignments()) order.push_back(assignment.unit);
  const auto unit = [](std::uint64_t stream, std::int64_t index) {
    return UnitId{StreamId{stream}, UnitIndex{index}};
  };
  EXPECT_THAT(order, testing::ElementsAre(unit(1, 0), unit(1, 1), unit(1, 2), unit(2, 0),
                                          unit(1, 4), unit(1, 8)));
}

TEST(DispatcherTest, AUnitThatComesLateIsHeldInPlaceOfTheOneItGoesBefore) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw", .run_queue_units = 1});
  const std::uint64_t stream = StreamWithHome(0);
  for (const int index : {0, 4}) pool.Submit(stream, index);
  EXPECT_EQ(pool.pool().unit(pool.pool().OldestHeldFor(WorkerId{0})).spec.unit.index.value, 4);
  pool.Submit(stream, 1);
  const UnitRef held = pool.pool().OldestHeldFor(WorkerId{0});
  EXPECT_EQ(pool.pool().unit(held).spec.unit.index.value, 1);
  EXPECT_FALSE(pool.pool().NextHeld(held).valid());
  pool.Cancel(stream);
  EXPECT_FALSE(pool.pool().OldestHeldFor(WorkerId{0}).valid());
  pool.FinishAll();
  EXPECT_EQ(pool.reports().size(), 3U);
}

TEST(DispatcherTest, ReportsSayWhatHappened) {
  VirtualPool pool({.topology = kTwoCores, .policy = "fifo"});
  pool.Submit(1, 0);
  pool.FinishAll();
  const JobReport report = pool.ReportsOf(1, 0).at(0);
  EXPECT_EQ(report.outcome, JobOutcome::kDone);
  EXPECT_EQ(report.worker.value, pool.WorkerOf(1, 0));
  EXPECT_EQ(report.attempt, 0);
  EXPECT_EQ(report.finished - report.started, std::chrono::milliseconds(10));
  EXPECT_TRUE(pool.dispatcher().empty());
}

// --- Cancel
// ----------------------------------------------------------------------------------------

TEST(CancelTest, WaitingAndQueuedUnitsAreReportedAtOnce) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw"});
  const std::uint64_t stream = StreamWithHome(0);
  for (int index = 0; index < 5; ++index) pool.Submit(stream, index);
  pool.Cancel(stream);
  // The first runs; the second was in the run queue; three waited.
  EXPECT_EQ(pool.reports().size(), 4U);
  for (const JobReport& report : pool.reports()) {
    EXPECT_EQ(report.outcome, JobOutcome::kCancelled);
    EXPECT_EQ(report.worker, WorkerId{});
  }
  pool.FinishAll();
  EXPECT_EQ(pool.ReportsOf(stream, 0).at(0).outcome, JobOutcome::kDone);
  EXPECT_EQ(pool.dispatcher().counters().cancelled, 4U);
  EXPECT_TRUE(pool.dispatcher().empty());
}

TEST(CancelTest, MakesRoomForOthers) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw"});
  const std::uint64_t gone = StreamWithHome(0);
  const std::uint64_t other = StreamWithHome(0, gone + 1);
  for (int index = 0; index < 5; ++index) pool.Submit(gone, index);
  pool.Submit(other, 0);
  EXPECT_EQ(pool.WorkerOf(other, 0), -1);
  pool.Cancel(gone);
  EXPECT_EQ(pool.WorkerOf(other, 0), 0);
}

TEST(CancelTest, WhatWasTakenBackBeforeItBeganWasNeverAssigned) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw", .run_queue_units = 3});
  const std::uint64_t stays = StreamWithHome(0);
  const std::uint64_t gone = StreamWithHome(0, stays + 1);
  pool.Submit(stays, 0);
  pool.Submit(gone, 0);
  pool.Submit(gone, 1);
  const auto queued = [&] { return pool.pool().NextQueued(pool.pool().Running(WorkerId{0})); };
  EXPECT_TRUE(pool.pool().unit(pool.pool().NextQueued(queued())).taken_for_warm)
      << "the one before it will have opened the context";
  pool.Cancel(gone);
  EXPECT_EQ(pool.dispatcher().counters().assigned, 1U);
  pool.Submit(gone, 2);
  EXPECT_FALSE(pool.pool().unit(queued()).taken_for_warm) << "none of its stream ever ran";
}

TEST(CancelTest, AFailedUnitOfACancelledStreamIsNotRetried) {
  VirtualPool pool({.topology = kTwoCores});
  pool.outcome = [](const Ticket&) { return JobOutcome::kFailed; };
  pool.Submit(1, 0);
  pool.Cancel(1);
  pool.FinishAll();
  EXPECT_EQ(pool.runs({StreamId{1}, UnitIndex{0}}), 1);
  EXPECT_EQ(pool.ReportsOf(1, 0).at(0).outcome, JobOutcome::kFailed);
}

TEST(CancelTest, UnitsSubmittedAfterwardsAreNew) {
  VirtualPool pool({.topology = kTwoCores});
  pool.Submit(1, 0);
  pool.Cancel(1);
  pool.Submit(1, 1);
  pool.FinishAll();
  EXPECT_EQ(pool.ReportsOf(1, 1).at(0).outcome, JobOutcome::kDone);
}

TEST(CancelTest, ShutdownReportsEverythingThatDoesNotRun) {
  VirtualPool pool({.topology = kTwoCores});
  for (std::uint64_t stream = 0; stream < 10; ++stream) {
    for (int index = 0; index < 3; ++index) pool.Submit(stream, index);
  }
  pool.Shutdown();
  EXPECT_EQ(pool.reports().size(), 28U) << "two are running";
  pool.Submit(99, 0);
  EXPECT_EQ(pool.ReportsOf(99, 0).at(0).outcome, JobOutcome::kCancelled);
  pool.FinishAll();
  EXPECT_EQ(pool.reports().size(), 31U);
  EXPECT_TRUE(pool.dispatcher().empty());
}

// --- Retry
// -----------------------------------------------------------------------------------------

TEST(RetryTest, AFailedUnitRunsOnceMoreOnAnotherWorker) {
  for (const PolicyEntry& entry : Policies()) {
    VirtualPool pool({.topology = kTwoCores, .policy = std::string(entry.name)});
    std::vector<int> ran_on;
    pool.outcome = [&](const Ticket& ticket) {
      ran_on.push_back(ticket.report.worker.value);
      return ticket.report.attempt == 0 ? JobOutcome::kFailed : JobOutcome::kDone;
    };
    pool.Submit(4, 0);
    pool.FinishAll();
    ASSERT_EQ(ran_on.size(), 2U) << entry.name;
    EXPECT_NE(ran_on[0], ran_on[1]) << entry.name;
    ASSERT_EQ(pool.ReportsOf(4, 0).size(), 1U);
    EXPECT_EQ(pool.ReportsOf(4, 0)[0].outcome, JobOutcome::kDone);
    EXPECT_EQ(pool.ReportsOf(4, 0)[0].attempt, 1);
    EXPECT_EQ(pool.dispatcher().counters().retries, 1U);
  }
}

TEST(RetryTest, TwoFailuresAreFinal) {
  VirtualPool pool({.topology = kTwoCores});
  pool.outcome = [](const Ticket&) { return JobOutcome::kFailed; };
  pool.Submit(4, 0);
  pool.FinishAll();
  EXPECT_EQ(pool.runs({StreamId{4}, UnitIndex{0}}), 2);
  ASSERT_EQ(pool.ReportsOf(4, 0).size(), 1U);
  EXPECT_EQ(pool.ReportsOf(4, 0)[0].outcome, JobOutcome::kFailed);
}

TEST(RetryTest, ThereIsNoneWithoutAnotherWorker) {
  VirtualPool pool({.topology = "core:1 pu:1"});
  pool.outcome = [](const Ticket&) { return JobOutcome::kFailed; };
  pool.Submit(4, 0);
  pool.FinishAll();
  EXPECT_EQ(pool.runs({StreamId{4}, UnitIndex{0}}), 1);
  EXPECT_EQ(pool.ReportsOf(4, 0).at(0).outcome, JobOutcome::kFailed);
}

TEST(RetryTest, ComesBeforeTheLaterUnitsOfItsStream) {
  VirtualPool pool({.topology = kTwoCores, .policy = "fifo", .run_queue_units = 1});
  bool failed = false;
  pool.outcome = [&](const Ticket& ticket) {
    if (ticket.report.unit.index.value != 0 || std::exchange(failed, true))
      return JobOutcome::kDone;
    return JobOutcome::kFailed;
  };
  for (int index = 0; index < 5; ++index) pool.Submit(1, index);
  pool.FinishOn(pool.WorkerOf(1, 0));  // unit 0 fails; the other worker is busy with unit 1
  pool.FinishOn(pool.WorkerOf(1, 1));
  std::vector<std::int64_t> order;
  for (const auto& assignment : pool.assignments()) order.push_back(assignment.unit.index.value);
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 0, 2)) << "order first: unit 2 waits behind unit 0";
  pool.FinishAll();
}

TEST(RetryTest, IsGivenUpWhenTheOtherWorkersLeave) {
  VirtualPool pool({.topology = kTwoCores, .policy = "hrw", .run_queue_units = 1});
  const std::uint64_t failing = StreamWithHome(0);
  const std::uint64_t blocking = StreamWithHome(1);
  pool.Submit(blocking, 0);
  pool.outcome = [&](const Ticket& ticket) {
    return ticket.report.unit.stream.value == failing ? JobOutcome::kFailed : JobOutcome::kDone;
  };
  pool.Submit(failing, 0);
  pool.FinishOn(0);
  EXPECT_TRUE(pool.ReportsOf(failing, 0).empty()) << "waits for worker 1";
  pool.SetAvailable(1, false);
  ASSERT_EQ(pool.ReportsOf(failing, 0).size(), 1U);
  EXPECT_EQ(pool.ReportsOf(failing, 0)[0].outcome, JobOutcome::kFailed);
  EXPECT_EQ(pool.ReportsOf(failing, 0)[0].attempt, 0);
}

// --- Workers that leave and return
// -----------------------------------------------------------------

TEST(WorkersChangedTest, WhatALeavingWorkerHadNotBegunGoesToOthers) {
  for (const PolicyEntry& entry : Policies()) {
    VirtualPool pool({.topology = kTwoCores, .policy = std::string(entry.name)});
    for (std::uint64_t stream = 0; stream < 6; ++stream) {
      for (int index = 0; index < 3; ++index) pool.Submit(stream, index);
    }
    const bool ran = pool.busy(0);
    const std::size_t before = pool.assignments().size();
    pool.SetAvailable(0, false);
    EXPECT_EQ(pool.pool().units_of(WorkerId{0}), ran ? 1 : 0) << "it may finish what it runs";
    pool.FinishAll();
    EXPECT_EQ(pool.reports().size(), 18U) << entry.name;
    for (std::size_t i = before; i < pool.assignments().size(); ++i) {
      EXPECT_EQ(pool.assignments()[i].worker, 1) << entry.name;
    }
  }
}

TEST(WorkersChangedTest, UnitsWaitWhileNobodyIsInService) {
  for (const PolicyEntry& entry : Policies()) {
    VirtualPool pool({.topology = kTwoCores, .policy = std::string(entry.name)});
    pool.SetAvailable(0, false);
    pool.SetAvailable(1, false);
    pool.Submit(1, 0);
    pool.Submit(2, 0);
    EXPECT_TRUE(pool.assignments().empty());
    pool.SetAvailable(1, true);
    pool.FinishAll();
    EXPECT_EQ(pool.reports().size(), 2U) << entry.name;
  }
}

}  // namespace
}  // namespace gopmill
