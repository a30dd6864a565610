// SPDX-License-Identifier: Apache-2.0
#include "server/bench/trace_recorder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "scheduler/rendezvous.h"
#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

UnitLife Life(std::uint64_t stream, std::int64_t index, bool cold) {
  UnitLife life = test::Unit(stream, index, 0, 10, 20).life;
  life.report.submitted = life.report.started = SteadyNow();
  life.report.cpu = FromSeconds(cold ? 0.012 : 0.010);
  life.report.cold = cold;
  life.report.opening = FromSeconds(cold ? 0.002 : 0.0);
  return life;
}

class TraceRecorderTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  const std::filesystem::path file_ = std::filesystem::path(::testing::TempDir()) /
                                      ("gopmill_recorder_" + std::to_string(getpid()));
};

TEST_F(TraceRecorderTest, WritesATraceThatCanBeRead) {
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}).value();
  recorder->OnEnded(Life(1, 0, true));
  recorder->OnEnded(Life(1, 1, false));
  UnitLife cancelled = Life(1, 2, false);
  cancelled.report.outcome = JobOutcome::kCancelled;
  recorder->OnEnded(cancelled);
  ASSERT_TRUE(recorder->Close().ok());
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  ASSERT_EQ(trace->units.size(), 2U);
  EXPECT_NEAR(*trace->units[0].hot_ms, 10, 1e-6);
  EXPECT_NEAR(*trace->units[0].cold_ms, 12, 1e-6);
  EXPECT_NEAR(*trace->units[1].hot_ms, 10, 1e-6);
  EXPECT_NEAR(*trace->units[1].cold_ms, 12, 1e-6);  // by what the first one told
  EXPECT_EQ(trace->units[1].context, OwnContext(StreamId{1}));
}

// As after SIGKILL: nobody closes anything.
TEST_F(TraceRecorderTest, WhatHasEndedIsInTheFileWhileTheRecorderRuns) {
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}).value();
  recorder->OnEnded(Life(1, 0, true));
  const TimePoint give_up = SteadyNow() + std::chrono::seconds(20);
  while (!ReadTraceFile(file_).ok() && SteadyNow() < give_up) std::this_thread::yield();
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_EQ(trace->units.size(), 1U);
}

TEST_F(TraceRecorderTest, ClassesAreWrittenByName) {
  ServiceClass live;
  live.name = "live";
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}, {live}).value();
  recorder->OnEnded(Life(1, 0, true));
  ASSERT_TRUE(recorder->Close().ok());
  EXPECT_EQ(ReadTraceFile(file_)->units.front().service_class, "live");
}

TEST_F(TraceRecorderTest, WhatKeepsNoContextsCostsTheSameColdAndWarm) {
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}).value();
  recorder->OnEnded(Life(1, 0, true));  // another one of the same context tells what opening costs
  UnitLife sound = Life(1, 1, false);
  sound.keeps_contexts = false;
  recorder->OnEnded(sound);
  ASSERT_TRUE(recorder->Close().ok());
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_NEAR(*trace->units[1].hot_ms, 10, 1e-6);
  EXPECT_EQ(trace->units[1].cold_ms, trace->units[1].hot_ms);
}

TEST(ToTraceUnit, DecodingAsideIsCpuTimeOfTheUnit) {
  UnitLife life = Life(1, 0, true);
  life.stats.aside_cpu = FromSeconds(0.005);
  const TraceUnit unit = ToTraceUnit(life, life.report.submitted, std::nullopt);
  EXPECT_NEAR(*unit.hot_ms, 15, 1e-6);
  EXPECT_NEAR(*unit.cold_ms, 17, 1e-6);
}

// What a machine made wait is no trait of the work.
TEST(ToTraceUnit, OneThatWasKeptBackArrivesWhenItCouldHaveGone) {
  UnitLife life = Life(1, 0, false);
  const TimePoint begin = life.report.submitted - std::chrono::milliseconds(100);
  EXPECT_NEAR(ToTraceUnit(life, begin, std::nullopt).arrival_ms, 100, 1e-6);
  life.came_at = begin + std::chrono::milliseconds(70);
  life.spec.deadline = life.report.submitted + std::chrono::milliseconds(300);
  const TraceUnit unit = ToTraceUnit(life, begin, std::nullopt);
  EXPECT_NEAR(unit.arrival_ms, 70, 1e-6);
  EXPECT_NEAR(*unit.deadline_ms, 370, 1e-6);
}

// Segments: ids in the upper half of the numbers, contexts that several streams share, indices with
// gaps.
TEST_F(TraceRecorderTest, IdsOfSegmentsAreReadAsTheyWere) {
  constexpr std::uint64_t kStream = ~std::uint64_t{0}, kContext = (std::uint64_t{1} << 63U) + 1;
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}).value();
  for (const std::int64_t index : {3, 7}) {
    UnitLife segment = Life(kStream, index, index == 3);
    segment.spec.stream_number = kStream;
    segment.spec.context = kContext;
    recorder->OnEnded(segment);
  }
  ASSERT_TRUE(recorder->Close().ok());
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  ASSERT_EQ(trace->units.size(), 2U);
  for (const TraceUnit& unit : trace->units) {
    EXPECT_EQ(unit.stream, kStream);
    EXPECT_EQ(unit.number, kStream);
    EXPECT_EQ(unit.context, kContext);
  }
}

TEST_F(TraceRecorderTest, ManyThreadsAtOnceLoseNothing) {
  auto recorder = TraceRecorder::Create(file_, {.machine = "test", .unit = "gop"}).value();
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t stream = 1; stream <= 4; ++stream) {
      threads.emplace_back([&recorder, stream] {
        for (int i = 0; i < 200; ++i) recorder->OnEnded(Life(stream, i, i == 0));
      });
    }
  }
  ASSERT_TRUE(recorder->Close().ok());
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_EQ(trace->units.size(), 800U);
}

TEST_F(TraceRecorderTest, AFullDiskIsReportedAtTheEnd) {
  auto recorder = TraceRecorder::Create("/dev/full", {.machine = "test", .unit = "gop"});
  if (recorder.ok()) {
    for (int i = 0; i < 2000; ++i) (*recorder)->OnEnded(Life(1, i, false));
    EXPECT_FALSE((*recorder)->Close().ok());
  } else {
    EXPECT_EQ(recorder.error().code, Code::kIo);
  }
}

TEST_F(TraceRecorderTest, AFolderThatIsNotThereIsRefused) {
  EXPECT_FALSE(TraceRecorder::Create("/nonexistent/trace", {.machine = "", .unit = ""}).ok());
}

}  // namespace
}  // namespace gopmill::bench
