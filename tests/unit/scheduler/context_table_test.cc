// SPDX-License-Identifier: Apache-2.0
#include "scheduler/context_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using testing::DoubleNear;

JobSpec UnitOf(std::uint64_t stream, std::uint32_t frames = 30) {
  return {.unit = {StreamId{stream}, {}}, .cost_bytes = 9000, .frames = frames};
}

JobReport Ran(int worker, Duration took, bool cold = false, Duration opening = {}) {
  JobReport report;
  report.worker = WorkerId{worker};
  report.finished = report.started + took;
  report.cold = cold;
  report.opening = opening;
  return report;
}

constexpr double kMs = 1e6;

TEST(ContextTableTest, AWorkerKeepsTheContextsItUsedLast) {
  ContextTable table(2, 2);
  const std::uint32_t a = table.Ref(UnitOf(1));
  const std::uint32_t b = table.Ref(UnitOf(2));
  const std::uint32_t c = table.Ref(UnitOf(3));
  const WorkerId w{1};
  table.Use(a, w);
  table.Use(b, w);
  table.Use(a, w);  // b is the older one now
  table.Use(c, w);
  EXPECT_TRUE(table.Warm(a, w));
  EXPECT_FALSE(table.Warm(b, w));
  EXPECT_TRUE(table.Warm(c, w));
  EXPECT_FALSE(table.Warm(a, WorkerId{0})) << "workers do not share contexts";
}

TEST(ContextTableTest, AUseThatIsTakenBackLeavesNothing) {
  ContextTable table(1, 2);
  const std::uint32_t a = table.Ref(UnitOf(1));
  const std::uint32_t b = table.Ref(UnitOf(2));
  const std::uint32_t c = table.Ref(UnitOf(3));
  const WorkerId w{0};
  table.Use(a, w);
  table.Use(b, w);
  table.TakeBack(b, w);
  EXPECT_FALSE(table.Warm(b, w));
  EXPECT_TRUE(table.Warm(a, w));
  table.Use(c, w);
  EXPECT_TRUE(table.Warm(a, w)) << "its place is free again";
}

TEST(ContextTableTest, StreamsWithOneContextKeyShareIt) {
  ContextTable table(1, 4);
  JobSpec first = UnitOf(1);
  JobSpec second = UnitOf(2);
  first.context = second.context = 77;
  EXPECT_EQ(table.Ref(first), table.Ref(second));
  EXPECT_NE(table.Ref(UnitOf(1)), table.Ref(UnitOf(2)));
}

// Against the plainest thing that does the same: all heads of all contexts in one ordered set.
TEST(ContextTableTest, KnowsTheHeadsOfEachContextInOrderOfArrival) {
  ContextTable table(1, 4);
  constexpr std::uint64_t kContexts = 5;
  std::vector<std::uint32_t> slots;
  for (std::uint64_t c = 1; c <= kContexts; ++c) {
    slots.push_back(table.Ref({.unit = {StreamId{c}, {}}, .context = c}));
  }
  std::mt19937 random(1);
  std::set<std::pair<std::uint32_t, std::uint64_t>> heads;  // by slot and sequence
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t slot = slots[random() % kContexts];
    const std::uint64_t sequence = random() % 16;
    const ContextTable::Head head{.sequence = sequence,
                                  .unit = static_cast<std::uint32_t>(100 * slot + sequence)};
    if (heads.insert({slot, sequence}).second) {
      table.AddHead(slot, head);
    } else {
      heads.erase({slot, sequence});
      table.RemoveHead(slot, head);
    }
    std::set<std::pair<std::uint32_t, std::uint64_t>> found;
    for (const std::uint32_t of : slots) {
      std::uint64_t next = 0;
      for (ContextTable::Head at = table.OldestHead(of); at.valid(); at = table.NextHead(of, at)) {
        ASSERT_GE(at.sequence, next);
        next = at.sequence + 1;
        ASSERT_EQ(at.unit, 100 * of + at.sequence);
        found.emplace(of, at.sequence);
      }
    }
    ASSERT_EQ(found, heads);
  }
}

TEST(ContextTableTest, LearnsTheTimePerFrameOfEachContext) {
  ContextTable table(1, 4);
  const std::uint32_t small = table.Ref(UnitOf(1));
  const std::uint32_t big = table.Ref(UnitOf(2));
  EXPECT_EQ(table.Predict(small, UnitOf(1), WorkerId{0}), 0) << "nothing is known yet";
  for (int i = 0; i < 50; ++i) {
    table.Learn(small, UnitOf(1, 30), Ran(0, milliseconds(6)));
    table.Learn(big, UnitOf(2, 30), Ran(0, milliseconds(60)));
  }
  EXPECT_THAT(table.Predict(small, UnitOf(1, 15), WorkerId{0}), DoubleNear(3 * kMs, 0.05 * kMs));
  EXPECT_THAT(table.Predict(big, UnitOf(2, 45), WorkerId{0}), DoubleNear(90 * kMs, 1 * kMs));
  const std::uint32_t unknown = table.Ref(UnitOf(3));
  EXPECT_GT(table.Predict(unknown, UnitOf(3), WorkerId{0}), 6 * kMs) << "the mean of all";
}

TEST(ContextTableTest, LearnsWhatAColdStartAdds) {
  ContextTable table(1, 4);
  const std::uint32_t slot = table.Ref(UnitOf(1));
  for (int i = 0; i < 50; ++i) {
    table.Learn(slot, UnitOf(1), Ran(0, milliseconds(10)));
    table.Learn(slot, UnitOf(1), Ran(0, milliseconds(12), true));
  }
  EXPECT_THAT(table.OpeningTime(slot), DoubleNear(2 * kMs, 0.1 * kMs));
  EXPECT_THAT(table.Predict(slot, UnitOf(1), WorkerId{0}), DoubleNear(10 * kMs, 0.1 * kMs));
}

TEST(ContextTableTest, TakesTheMeasuredOpeningTimeWhenThereIsOne) {
  ContextTable table(1, 4);
  const std::uint32_t slot = table.Ref(UnitOf(1));
  table.Learn(slot, UnitOf(1), Ran(0, milliseconds(25), true, milliseconds(15)));
  EXPECT_THAT(table.OpeningTime(slot), DoubleNear(15 * kMs, 1));
  EXPECT_THAT(table.Predict(slot, UnitOf(1), WorkerId{0}), DoubleNear(10 * kMs, 1));
}

// Streams of the same formats share what a worker keeps open.
TEST(ContextTableTest, LearnsThatAStartTakenForColdWasWarmAfterAll) {
  ContextTable table(1, 4);
  const std::uint32_t slot = table.Ref(UnitOf(1));
  table.Learn(slot, UnitOf(1), Ran(0, milliseconds(25), true, milliseconds(15)), false);
  for (int i = 0; i < 40; ++i) table.Learn(slot, UnitOf(1), Ran(0, milliseconds(10)), true);
  EXPECT_THAT(table.OpeningTime(slot), DoubleNear(15 * kMs, 1)) << "warm runs do not tell";
  for (int i = 0; i < 40; ++i) table.Learn(slot, UnitOf(1), Ran(0, milliseconds(10)), false);
  EXPECT_LT(table.OpeningTime(slot), 2 * kMs);
}

TEST(ContextTableTest, LearnsThatAWorkerIsSlower) {
  ContextTable table(2, 4);
  const std::uint32_t slot = table.Ref(UnitOf(1));
  for (int i = 0; i < 400; ++i) {
    table.Learn(slot, UnitOf(1), Ran(0, milliseconds(10)));
    table.Learn(slot, UnitOf(1), Ran(1, milliseconds(20)));
  }
  const double fast = table.Predict(slot, UnitOf(1), WorkerId{0});
  const double slow = table.Predict(slot, UnitOf(1), WorkerId{1});
  EXPECT_THAT(slow / fast, DoubleNear(2, 0.2));
}

TEST(ContextTableTest, LearnsThatAWorkerIsSlowerFromUnevenRuns) {
  ContextTable table(2, 4);
  const std::uint32_t slot = table.Ref(UnitOf(1));
  for (int i = 0; i < 4000; ++i) {
    const bool is_short = i / 2 % 2 == 0;
    table.Learn(slot, UnitOf(1), Ran(0, milliseconds(is_short ? 6 : 14)));
    table.Learn(slot, UnitOf(1), Ran(1, milliseconds(is_short ? 12 : 28)));
  }
  const double fast = table.Predict(slot, UnitOf(1), WorkerId{0});
  const double slow = table.Predict(slot, UnitOf(1), WorkerId{1});
  EXPECT_THAT(slow / fast, DoubleNear(2, 0.2));
}

// Runs of one context differ; that says nothing of the worker, nor of the runs of another context.
TEST(ContextTableTest, UnevenRunsDoNotMakeAWorkerSlower) {
  for (const int workers : {1, 4}) {
    ContextTable table(workers, 4);
    const std::uint32_t even = table.Ref(UnitOf(1));
    const std::uint32_t uneven = table.Ref(UnitOf(2));
    for (int i = 0; i < 50; ++i) table.Learn(even, UnitOf(1), Ran(0, milliseconds(10)));
    for (int i = 0; i < 20'000; ++i) {
      table.Learn(uneven, UnitOf(2), Ran(0, milliseconds(i % 2 == 0 ? 6 : 14)));
    }
    EXPECT_THAT(table.Predict(even, UnitOf(1), WorkerId{0}), DoubleNear(10 * kMs, 1 * kMs));
    EXPECT_THAT(table.Predict(uneven, UnitOf(2), WorkerId{0}), DoubleNear(10 * kMs, 1 * kMs));
  }
}

// The first run of each context takes half as long again: that makes no worker quick.
TEST(ContextTableTest, WhatAllWorkersHaveInCommonIsNoSpeed) {
  ContextTable table(2, 4);
  const std::uint32_t known = table.Ref(UnitOf(1));
  for (int i = 0; i < 100; ++i) table.Learn(known, UnitOf(1), Ran(i % 2, milliseconds(10)));
  for (std::uint64_t stream = 2; stream < 2000; ++stream) {
    const std::uint32_t slot = table.Ref(UnitOf(stream));
    table.Learn(slot, UnitOf(stream), Ran(0, milliseconds(15)));
    for (int i = 0; i < 20; ++i) {
      table.Learn(slot, UnitOf(stream), Ran(i % 2, milliseconds(10)));
    }
    table.Unref(slot);
  }
  EXPECT_THAT(table.Predict(known, UnitOf(1), WorkerId{0}), DoubleNear(10 * kMs, 1 * kMs));
  EXPECT_THAT(table.Predict(known, UnitOf(1), WorkerId{1}), DoubleNear(10 * kMs, 1 * kMs));
}

TEST(ContextTableTest, ForgetsOnlyContextsThatNobodyRefersTo) {
  ContextTable table(1, 1);
  const std::uint32_t kept = table.Ref(UnitOf(1));
  table.Learn(kept, UnitOf(1), Ran(0, milliseconds(10)));
  for (std::uint64_t stream = 2; stream < 3 * kMaxContexts; ++stream) {
    const std::uint32_t slot = table.Ref(UnitOf(stream));
    ASSERT_NE(slot, kept);
    ASSERT_LE(slot, kMaxContexts);
    table.Use(slot, WorkerId{0});
    table.Unref(slot);
  }
  EXPECT_THAT(table.Predict(kept, UnitOf(1), WorkerId{0}), DoubleNear(10 * kMs, 1));
}

}  // namespace
}  // namespace gopmill
