// SPDX-License-Identifier: Apache-2.0
#include "server/bench/replay.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "server/bench/measures.h"
#include "server/bench/process_usage.h"

namespace gopmill::bench {
namespace {

TraceUnit Recorded(double arrival_ms, std::uint64_t stream, std::int64_t index) {
  return {.arrival_ms = arrival_ms,
          .stream = stream,
          .number = stream - 1,
          .index = index,
          .bytes = 1000,
          .frames = 15,
          .context = stream,
          .hot_ms = 2.0,
          .cold_ms = 3.0,
          .deadline_ms = std::nullopt};
}

TEST(ReplayUnitsTest, MissingTimesFollowFromTheMedianOpening) {
  RecordedTrace trace;
  trace.units = {Recorded(0, 1, 0), Recorded(1, 1, 1), Recorded(2, 1, 2)};
  trace.units[1].cold_ms.reset();
  trace.units[2].hot_ms.reset();
  const auto units = ReplayUnits(trace).value();
  EXPECT_EQ(units[1].cold, std::chrono::milliseconds(3));
  EXPECT_EQ(units[2].hot, std::chrono::milliseconds(2));
}

TEST(ReplayUnitsTest, TheClockStartsWithTheFirstArrival) {
  RecordedTrace trace;
  trace.units = {Recorded(12'000, 1, 0), Recorded(12'100, 1, 1)};
  trace.units[1].deadline_ms = 12'250;
  const auto units = ReplayUnits(trace).value();
  EXPECT_EQ(units[0].arrival, Duration{});
  EXPECT_EQ(units[0].spec.deadline, kNoDeadline);
  EXPECT_EQ(units[1].arrival, std::chrono::milliseconds(100));
  EXPECT_EQ(units[1].spec.deadline, TimePoint(std::chrono::milliseconds(250)));
}

TEST(ReplayUnitsTest, ClassesAreFoundByName) {
  RecordedTrace trace;
  trace.units = {Recorded(0, 1, 0)};
  trace.units[0].service_class = "vod";
  ServiceClass live, vod;
  live.name = "live";
  vod.name = "vod";
  EXPECT_EQ(ReplayUnits(trace, {live, vod})->front().spec.service_class, 1);
  EXPECT_EQ(ReplayUnits(trace)->front().spec.service_class, 0);
  const auto unknown = ReplayUnits(trace, {live});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().parameter, "classes");
}

TEST(WarmContextsTest, ForgetsTheLeastRecentlyUsed) {
  WarmContexts contexts(2);
  EXPECT_FALSE(contexts.Touch(1));
  EXPECT_FALSE(contexts.Touch(2));
  EXPECT_TRUE(contexts.Touch(1));
  EXPECT_FALSE(contexts.Touch(3));
  EXPECT_TRUE(contexts.Touch(1));
  EXPECT_FALSE(contexts.Touch(2));
}

TEST(ReplayTest, BurnsTheRecordedTimeOnRealWorkers) {
  RecordedTrace trace;
  for (int i = 0; i < 6; ++i) {
    for (const std::uint64_t stream : {1U, 2U}) trace.units.push_back(Recorded(i, stream, i));
  }
  const auto units = ReplayUnits(trace).value();
  const auto run = RunReplay({.policy = "fifo", .workers = 2}, units, {});
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->units.size(), 12U);
  EXPECT_EQ(run->streams.size(), 2U);
  Duration burnt{};
  for (const UnitSample& unit : run->units) {
    const Duration least = std::chrono::milliseconds(unit.life.report.cold ? 3 : 2);
    EXPECT_GE(unit.life.report.cpu, least);
    EXPECT_GE(unit.released, unit.life.report.finished);
    burnt += unit.life.report.cpu;
  }
  const RunMeasures measures = Measure(*run);
  EXPECT_GE(measures.cold, 2.0 / 12);  // each stream opens once at least
  EXPECT_DOUBLE_EQ(measures.context_hits, 1 - measures.cold);
  EXPECT_FALSE(IsMeasured(measures.first_byte_ms));
  EXPECT_FALSE(IsMeasured(measures.frames));
  EXPECT_GE(burnt, std::chrono::milliseconds(24));
}

// Even arrivals have no jitter but that of the machine, whatever the distance between them.
TEST(ReplayTest, JitterIsThatOfTheTimesFromSubmissionOn) {
  RecordedTrace trace;
  for (int i = 0; i < 8; ++i) trace.units.push_back(Recorded(3000 + 50 * i, 1, i));
  const auto run = RunReplay({.policy = "fifo", .workers = 1}, ReplayUnits(trace).value(), {});
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  double most = 0;  // difference between the times of two units, which bounds the jitter
  const auto transit = [&run](std::size_t i) {
    const JobReport& report = run->units[i].life.report;
    return ToMillis(report.finished - report.submitted);
  };
  for (std::size_t i = 1; i < run->units.size(); ++i) {
    most = std::max(most, std::abs(transit(i) - transit(i - 1)));
  }
  const RunMeasures measures = Measure(*run);
  EXPECT_LE(measures.jitter_before_ms, most);
  EXPECT_LE(measures.jitter_after_ms, most);
  EXPECT_EQ(run->end, run->units.back().life.report.finished);
  EXPECT_LT(measures.wall_s, 3.0) << "the trace's first arrival is waited for";
}

// As the publications have it: the units of all streams are bound as they arrive.
TEST(ReplayTest, RunQueuesWithoutBoundTakeAllAtOnce) {
  RecordedTrace trace;
  for (std::uint64_t stream = 1; stream <= 6; ++stream) {
    trace.units.push_back(Recorded(0, stream, 0));
    trace.units.back().hot_ms = trace.units.back().cold_ms = 100;
  }
  const auto bound_later = [&trace](int queue) {
    const ReplayOptions options{.policy = "rr", .workers = 1, .run_queue_units = queue};
    const RunRecord run = RunReplay(options, ReplayUnits(trace).value(), {}).value();
    const auto finished = [](const UnitSample& unit) { return unit.life.report.finished; };
    const TimePoint first = std::ranges::min(run.units, {}, finished).life.report.finished;
    return std::ranges::count_if(
        run.units, [first](const UnitSample& unit) { return unit.life.report.assigned >= first; });
  };
  EXPECT_EQ(bound_later(2), 4) << "the others wait for a place";
  EXPECT_EQ(bound_later(0), 0);
}

TEST(ReplayTest, StopsWhenAsked) {
  RecordedTrace trace;
  trace.units = {Recorded(0, 1, 0), Recorded(3'600'000, 1, 1)};
  std::stop_source stop;
  stop.request_stop();
  const auto run =
      RunReplay({.policy = "fifo", .workers = 1}, ReplayUnits(trace).value(), stop.get_token());
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kCancelled);
}

TEST(ReplayTest, AUnitThatTakesAMinuteStopsToo) {
  RecordedTrace trace;
  trace.units = {Recorded(0, 1, 0)};
  trace.units.back().hot_ms = trace.units.back().cold_ms = 60'000;
  const auto units = ReplayUnits(trace).value();
  const TimePoint begin = SteadyNow();
  std::stop_source stop;
  const double before_s = UsageNow().cpu_seconds();
  std::jthread stopper([&] {
    // What the threads beside this one have used: the unit has begun.
    while (UsageNow().cpu_seconds() - ToSeconds(ThreadCpuNow()) < before_s + 0.1 &&
           SteadyNow() < begin + std::chrono::seconds(30)) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  const auto run = RunReplay({.policy = "fifo", .workers = 1}, units, stop.get_token());
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kCancelled);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(40));
}

}  // namespace
}  // namespace gopmill::bench
