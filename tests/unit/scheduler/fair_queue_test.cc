// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace gopmill {
namespace {

struct TimedUnit {
  double expected = 0;
  double took = 0;
};

// So many workers, each of which starts a unit of the class that is next whenever it comes free.
// All classes that `waits` lets through have units without end.
struct FairWorkers {
  FairWorkers(const std::string& classes, int count)
      : queue(ParseClasses(classes).value()), runs_(static_cast<std::size_t>(count)) {
    served.resize(ParseClasses(classes).value().size());
    units_.resize(served.size());
  }
  void Run(double until) {
    for (;;) {
      const auto next = std::ranges::min_element(runs_, {}, &TimedRun::ends);
      if (next->ends >= until) return;
      now = next->ends;
      if (next->c) {
        served[*next->c] += next->unit.took;
        queue.Finish(*next->c, next->unit.expected, next->unit.took);
      }
      StartOn(*next);
    }
  }
  // Of what was served since the last call.
  double ShareOf(std::size_t c) {
    const double share = served[c] / std::accumulate(served.begin(), served.end(), 0.0);
    std::ranges::fill(served, 0.0);
    return share;
  }

  std::function<bool(std::size_t)> waits = [](std::size_t) { return true; };
  std::function<TimedUnit(std::size_t c, int number)> unit_of;
  FairQueue queue;
  std::vector<double> served;
  double now = 0;

 private:
  struct TimedRun {
    std::optional<std::size_t> c;
    TimedUnit unit;
    double ends = 0;
  };
  void StartOn(TimedRun& run) {
    std::optional<std::size_t> best;
    for (std::size_t c = 0; c < served.size(); ++c) {
      if (waits(c) && (!best || queue.TagOf(c) < queue.TagOf(*best))) best = c;
    }
    run.c = best;
    run.unit = best ? unit_of(*best, units_[*best]++) : TimedUnit{.expected = 1, .took = 1};
    run.ends = now + run.unit.took;
    if (best) queue.Start(*best, run.unit.expected);
  }
  std::vector<TimedRun> runs_;
  std::vector<int> units_;
};

// One in four units takes long: the mean is right, and three of four end before it.
TimedUnit UnevenUnit(int number) {
  return {.expected = 100, .took = number % 4 == 3 ? 325.0 : 25.0};
}

TEST(FairQueueTest, GivesBackWhatWasChargedTooMuchHoweverFarOthersAreBetween) {
  for (const int workers : {1, 2, 4, 16}) {
    FairWorkers some("a:1,b:1", workers);
    some.unit_of = [](std::size_t c, int number) {
      return c == 0 ? UnevenUnit(number) : TimedUnit{.expected = 10, .took = 10};
    };
    for (double until = 1000; until < 100'000; until *= 2) {
      some.Run(until);
      EXPECT_LE(std::abs(some.served[0] - some.served[1]), workers * (325 + 10)) << workers;
    }
    EXPECT_NEAR(some.ShareOf(0), 0.5, 0.01) << workers;
  }
}

TEST(FairQueueTest, SharesDoNotHangOnPredictions) {
  for (const double expected : {0.0, 1.0, 50.0, 1000.0}) {
    FairWorkers some("a:3,b:1,c:1", 8);
    some.unit_of = [&](std::size_t c, int) {
      return TimedUnit{.expected = c == 0 ? expected : 20, .took = 20};
    };
    some.Run(200'000);
    EXPECT_NEAR(some.ShareOf(0), 0.6, 0.01) << expected;
  }
}

// What it did not use while it was away is not given back to it.
TEST(FairQueueTest, AClassThatWasAwayStartsAtTheClock) {
  FairWorkers some("a:1,b:1,c:1", 4);
  bool away = false;
  some.waits = [&](std::size_t c) { return c != 2 || !away; };
  some.unit_of = [](std::size_t c, int number) {
    return c == 1 ? TimedUnit{.expected = 10, .took = 10} : UnevenUnit(number);
  };
  some.Run(10'000);
  away = true;
  some.Run(100'000);
  some.ShareOf(2);
  away = false;
  some.Run(110'000);
  EXPECT_NEAR(some.ShareOf(2), 1.0 / 3, 0.02) << "4 * 325 of 40,000 is 0.03";
}

// One that was passed over for a reason of its own, as at its maximum, has no claim to that either.
TEST(FairQueueTest, AClassThatWasPassedOverSavesNothingUp) {
  FairWorkers some("a:1,b:1", 4);
  int passed = 0;
  some.waits = [&](std::size_t c) { return c == 1 || ++passed % 8 == 0; };
  some.unit_of = [](std::size_t, int number) { return UnevenUnit(number); };
  some.Run(100'000);
  EXPECT_LT(some.ShareOf(0), 0.3);
  some.waits = [](std::size_t) { return true; };
  some.Run(110'000);
  EXPECT_NEAR(some.ShareOf(0), 0.5, 0.05);
}

TEST(FairQueueTest, WhatIsGivenBackIsTheSameWorkerTimeUnderAnotherWeight) {
  FairWorkers some("a:1,b:1", 4);
  some.unit_of = [](std::size_t, int number) { return UnevenUnit(number); };
  for (int round = 1; round <= 400; ++round) {
    some.Run(round * 250.0);
    some.queue.SetWeight(0, round % 2 == 1 ? 4 : 1);
  }
  EXPECT_NEAR(some.ShareOf(0), (0.8 + 0.5) / 2, 0.02);
}

// The clock goes by the light class then, to 1e18, where doubles are 128 apart.
TEST(FairQueueTest, LongWorkOfALightClassDoesNotHideTheUnitsOfHeavyOnes) {
  FairWorkers some("heavy:1000000,other:1000000,light:0.000001", 1);
  some.unit_of = [](std::size_t, int) { return TimedUnit{.expected = 50e6, .took = 50e6}; };
  some.waits = [](std::size_t c) { return c == 2; };
  some.Run(1000e9);
  some.ShareOf(2);
  some.waits = [](std::size_t) { return true; };
  some.Run(1050e9);
  EXPECT_NEAR(some.ShareOf(0), 0.5, 0.01);
}

}  // namespace
}  // namespace gopmill
