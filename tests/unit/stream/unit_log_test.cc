// SPDX-License-Identifier: Apache-2.0
#include "server/stream/unit_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/stream/sample_lives.h"

namespace gopmill {
namespace {

using test::AtMillis;
using test::Life;

TEST(UnitLog, TellsWhenAUnitWasReadRanAndWasReleased) {
  UnitLog log;
  UnitLife life = Life(3, 1, 2, 4, 9);
  life.report.attempt = 1;
  life.report.cold = true;
  life.stats.aside_cpu = FromSeconds(1e-3);
  log.OnEnded(life);
  EXPECT_FALSE(log.Newest().at(0).was_released());
  log.OnReleased(life.report.unit, AtMillis(11));
  ASSERT_EQ(log.Newest().size(), 1U);
  const LoggedUnit unit = log.Newest().front();
  EXPECT_EQ(unit.unit, life.report.unit);
  EXPECT_EQ(unit.worker, WorkerId{1});
  EXPECT_TRUE(unit.ran());
  EXPECT_EQ(unit.read_at, AtMillis(2));
  EXPECT_EQ(unit.started, AtMillis(4));
  EXPECT_EQ(unit.finished, AtMillis(9));
  EXPECT_EQ(unit.released, AtMillis(11));
  EXPECT_EQ(unit.cpu, life.report.cpu + life.stats.aside_cpu);
  EXPECT_EQ(unit.attempt, 1);
  EXPECT_TRUE(unit.cold);
}

TEST(UnitLog, AUnitThatNeverRanHasNoWorker) {
  UnitLog log;
  UnitLife life = Life(0, -1, 1, 0, 0);
  life.report.outcome = JobOutcome::kCancelled;
  log.OnEnded(life);
  EXPECT_FALSE(log.Newest().at(0).ran());
}

TEST(UnitLog, KeepsTheNewest) {
  UnitLog log;
  constexpr auto kMore = static_cast<std::int64_t>(kKeptUnits) + 100;
  for (std::int64_t i = 0; i < kMore; ++i) log.OnEnded(Life(i, 0, 1, 2, 3));
  const std::vector<LoggedUnit> units = log.Newest();
  ASSERT_EQ(units.size(), kKeptUnits);
  EXPECT_EQ(units.front().unit.index, UnitIndex{100});
  EXPECT_EQ(units.back().unit.index, UnitIndex{kMore - 1});
  log.OnReleased({StreamId{5}, UnitIndex{3}}, AtMillis(4));  // one that is not kept any more
  log.OnReleased(units.front().unit, AtMillis(4));
  EXPECT_TRUE(std::ranges::count_if(log.Newest(), &LoggedUnit::was_released) == 1);
}

// A unit takes milliseconds. The best of the rounds: what a busy machine takes away is not the
// log's.
TEST(UnitLog, CostsLittlePerUnit) {
  constexpr std::int64_t kUnits = 10'000;
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    UnitLog log;
    UnitLife life = Life(0, 0, 1, 2, 3);
    const TimePoint begin = SteadyNow();
    for (std::int64_t i = 0; i < kUnits; ++i) {
      life.report.unit.index = UnitIndex{i};
      log.OnEnded(life);
      // Behind the units of a window that ended before it.
      if (i >= 20) log.OnReleased({StreamId{5}, UnitIndex{i - 20}}, life.report.finished);
    }
    best = std::min(best, ToMillis(SteadyNow() - begin) * 1e6 / kUnits);
  }
  RecordProperty("ns_per_unit", std::to_string(best));
  EXPECT_LT(best, GOPMILL_MOST_LOG_NS);
}

}  // namespace
}  // namespace gopmill
