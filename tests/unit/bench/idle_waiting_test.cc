// SPDX-License-Identifier: Apache-2.0
#include "server/bench/idle_waiting.h"

#include <gmock/gmock.h>

#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

using test::At;

WorkedUnit Worked(int worker, double eligible, double assigned, double started, double finished) {
  return {.worker = worker,
          .eligible = At(eligible),
          .assigned = At(assigned),
          .started = At(started),
          .finished = At(finished)};
}

double Millis(Duration time) { return ToMillis(time); }

TEST(IdleWaitingTest, NothingWhenAllWorkersAreBusyOrNothingWaits) {
  // Worker 0 works on one unit after the other; worker 1 idles from 4 on, when nothing waits.
  const IdleWaiting found = FindIdleWaiting(
      {Worked(0, 0, 0, 0, 3), Worked(0, 0, 3, 3, 9), Worked(1, 0, 0, 0, 4)}, 2, At(0), At(9));
  EXPECT_EQ(found.total.count(), 0);
  EXPECT_EQ(found.too_long, 0);
}

TEST(IdleWaitingTest, AUnitBehindABusyWorkerBesideAnIdleOne) {
  // The second unit waits in worker 0's run queue until 10; worker 1 is idle from 4 on.
  const IdleWaiting found = FindIdleWaiting(
      {Worked(0, 0, 0, 0, 10), Worked(0, 1, 1, 10, 12), Worked(1, 0, 0, 0, 4)}, 2, At(0), At(12));
  EXPECT_DOUBLE_EQ(Millis(found.total), 6);
  EXPECT_DOUBLE_EQ(Millis(found.longest), 6);
  EXPECT_EQ(found.too_long, 1);
}

TEST(IdleWaitingTest, AUnitHeldBackInTheGlobalQueue) {
  const IdleWaiting found = FindIdleWaiting({Worked(0, 2, 7, 7, 8)}, 1, At(0), At(8));
  EXPECT_DOUBLE_EQ(Millis(found.total), 5);
  EXPECT_EQ(found.too_long, 1);
}

TEST(IdleWaitingTest, WakingUpIsNotWaiting) {
  const IdleWaiting found = FindIdleWaiting({Worked(0, 2, 2, 5, 8)}, 1, At(0), At(8));
  EXPECT_EQ(found.total.count(), 0);
  EXPECT_DOUBLE_EQ(Millis(found.wake_up), 3);
  EXPECT_DOUBLE_EQ(Millis(found.wake_up_longest), 3);
}

TEST(IdleWaitingTest, AWorkerThatWakesUpIsNotIdleForTheOthersWhoWait) {
  // Both wait from 0 on. The first is given to the worker at 1 and begins at 6.
  const IdleWaiting found =
      FindIdleWaiting({Worked(0, 0, 1, 6, 8), Worked(0, 0, 8, 8, 9)}, 1, At(0), At(9));
  EXPECT_DOUBLE_EQ(Millis(found.total), 1);
  EXPECT_DOUBLE_EQ(Millis(found.longest), 1);
  EXPECT_EQ(found.too_long, 0);
  EXPECT_DOUBLE_EQ(Millis(found.wake_up_longest), 5);
}

TEST(IdleWaitingTest, AWorkerThatIsGivenNothingIsIdleForAllWhoWait) {
  const IdleWaiting found =
      FindIdleWaiting({Worked(0, 0, 3, 6, 8), Worked(0, 0, 8, 8, 9)}, 1, At(0), At(9));
  EXPECT_DOUBLE_EQ(Millis(found.longest), 3);
  EXPECT_EQ(found.too_long, 1);
  EXPECT_DOUBLE_EQ(Millis(found.too_long_total), 3);
}

// Worker 0 idles until 40 beside five units that wait from 0 on and go to worker 1 every 8 ms.
TEST(IdleWaitingTest, TimePassesOnceHoweverManyWait) {
  std::vector<WorkedUnit> units = {Worked(1, 0, 0, 0, 8)};
  for (int i = 1; i < 6; ++i) units.push_back(Worked(1, 0, i * 8.0, i * 8.0, i * 8.0 + 8));
  units.push_back(Worked(0, 40, 40, 40, 48));
  const IdleWaiting found = FindIdleWaiting(std::move(units), 2, At(0), At(48));
  EXPECT_DOUBLE_EQ(Millis(found.total), 40);
  EXPECT_DOUBLE_EQ(Millis(found.longest), 40);
  EXPECT_EQ(found.too_long, 1);
  EXPECT_DOUBLE_EQ(Millis(found.too_long_total), 40);
}

// Beside the idle worker 0 one waits from 2 to 6, one from 1 to 12, one from 12.5 to 13 and one
// from 20 to 25.
TEST(IdleWaitingTest, StretchesThatOverlapAreOneEvent) {
  const IdleWaiting found =
      FindIdleWaiting({Worked(1, 0, 0, 0, 6), Worked(1, 2, 6, 6, 12), Worked(1, 1, 12, 12, 13),
                       Worked(1, 12.5, 13, 13, 25), Worked(1, 20, 25, 25, 30)},
                      2, At(0), At(30));
  EXPECT_DOUBLE_EQ(Millis(found.total), 16.5);
  EXPECT_DOUBLE_EQ(Millis(found.longest), 11);
  EXPECT_EQ(found.too_long, 2);
  EXPECT_DOUBLE_EQ(Millis(found.too_long_total), 16) << "without the half millisecond";
}

TEST(IdleWaitingTest, ManyShortHandOversAreNotOneLongEvent) {
  std::vector<WorkedUnit> units;
  for (int i = 0; i < 100; ++i) {
    const double begin = i * 2.0 + 0.5;  // each waits half a millisecond beside the idle worker
    units.push_back(Worked(0, begin - 0.5, begin, begin, begin + 1.5));
  }
  const IdleWaiting found = FindIdleWaiting(std::move(units), 1, At(0), At(200));
  EXPECT_NEAR(Millis(found.total), 50, 1e-6);
  EXPECT_NEAR(Millis(found.longest), 0.5, 1e-6);
  EXPECT_EQ(found.too_long, 0);
}

}  // namespace
}  // namespace gopmill::bench
