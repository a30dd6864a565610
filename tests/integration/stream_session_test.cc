// SPDX-License-Identifier: Apache-2.0
//
// A stream among others: slow clients, clients that leave, sinks that fail, many at once.
#include "server/stream/stream_session.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "scheduler/units_out.h"
#include "server/stream/seam_json.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

constexpr const char* kSmallRequest = "width=176 height=144 fit=stretch fps=15 bitrate=70k";

bool IdleNow(const Engine& engine) {
  const SchedulerStats stats = engine.scheduler().Stats();
  return stats.waiting_units == 0 &&
         std::ranges::none_of(stats.workers, [](const WorkerStats& worker) {
           return worker.running.has_value() || worker.queued_units > 0;
         });
}

// The dispatcher hears of a finished unit by message: its numbers follow within moments.
bool AllIdle(const Engine& engine) {
  const TimePoint end = SteadyNow() + std::chrono::seconds(5);
  while (!IdleNow(engine)) {
    if (SteadyNow() > end) return false;
    std::this_thread::sleep_for(
        std::chrono::milliseconds(1));  // its CPU time would count as theirs
  }
  return true;
}

TEST(StreamSession, DeliversEveryPlannedFrame) {
  const auto engine = MakeEngine("h-cahrw", 2);
  const Outcome outcome =
      RunStream(*engine, "ref-animation.mpg", std::string(kSmallRequest) + " duration=20");
  EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcome.snapshot.frames_out, 300);
  EXPECT_EQ(outcome.snapshot.frames_planned, 300);
  EXPECT_EQ(outcome.snapshot.units_done, outcome.snapshot.units_planned);
  EXPECT_EQ(outcome.snapshot.damage.concealed, 0);
  EXPECT_TRUE(outcome.snapshot.first_byte.has_value());
}

// Whoever comes next would have to wait for more.
TEST(StreamSession, KeepsBackWhatItsWorkersDoNotGoOnWith) {
  constexpr int kWorkers = 2;
  const auto engine = MakeEngine("fifo", kWorkers);
  std::int64_t most = 0;
  const auto look = [&](std::span<const std::uint8_t>) {
    const SchedulerStats stats = engine->scheduler().Stats();
    auto units = static_cast<std::int64_t>(stats.waiting_units);
    for (const WorkerStats& worker : stats.workers) {
      units += worker.queued_units + (worker.running ? 1 : 0);
    }
    most = std::max(most, units);
    return OkStatus();
  };
  const auto end = TestStream(*engine, 1, "ref-animation.mpg",
                              std::string(kSmallRequest) + " unit=gop duration=20", look)
                       .Finish()
                       .snapshot;
  EXPECT_EQ(end.units_done, 40);
  EXPECT_GT(most, 0);
  EXPECT_LE(most, UnitsOut(kWorkers));
}

TEST(StreamSession, TellsWhenAUnitThatItKeptBackCouldHaveGone) {
  struct Lives final : UnitObserver {
    void OnEnded(const UnitLife& life) noexcept override { ended.push_back(life); }
    void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override {}
    std::vector<UnitLife> ended;
  };
  const auto engine = MakeEngine("fifo", 1);
  const auto lives = std::make_shared<Lives>();
  // Each takes far longer to make than to read, and waits for no other's bits.
  TestStream(*engine, 1, "ref-animation.mpg",
             "width=704 height=576 preset=medium crf=22 acodec=none unit=gop duration=5", {},
             [&](SessionSpec& spec) { spec.observer = lives; })
      .Finish();
  ASSERT_EQ(lives->ended.size(), 10U);
  std::int64_t kept_back = 0;
  for (const UnitLife& life : lives->ended) {
    ASSERT_TRUE(life.came_at.has_value());
    EXPECT_LE(life.planned_at, *life.came_at);
    EXPECT_LE(*life.came_at, life.report.submitted);
    kept_back += std::ranges::count_if(lives->ended, [&](const UnitLife& other) {
      return other.report.finished > *life.came_at &&
             other.report.finished <= life.report.submitted;
    });
  }
  EXPECT_GT(kept_back, 0) << "some came before a unit ended, and were submitted after that";
}

// All that the process does here is this one stream.
TEST(StreamSession, ItsCpuTimeHasTheThreadsOfItsEncoders) {
  for (const char* codec : {"h264", "hevc", "av1"}) {
    const auto engine = MakeEngine("hearth", 1);
    const Duration before = ProcessCpuNow();
    const StreamSnapshot end =
        RunStream(*engine, "modern-720p.mp4",
                  std::string("width=320 bitrate=200k acodec=none duration=3 vcodec=") + codec)
            .snapshot;
    const double all = ToSeconds(ProcessCpuNow() - before), told = ToSeconds(end.stages.cpu);
    ASSERT_EQ(end.state, StreamState::kDone) << codec;
    EXPECT_GT(told, 0.8 * all) << codec;
    EXPECT_LT(told, all) << codec;
  }
}

// Cores that a stream like it is taken to need once this one has run.
double NeedAfter(const std::string& params) {
  const auto engine = MakeEngine("hearth", 1);
  const auto desk = std::make_shared<StreamAdmission>(std::vector<ServiceClass>{}, 64, 1.0);
  const auto end = TestStream(*engine, 1, "modern-720p.mp4", params, {},
                              [&](SessionSpec& spec) { spec.admission = desk; })
                       .Finish()
                       .snapshot;
  EXPECT_EQ(end.state, StreamState::kDone) << params;
  EXPECT_TRUE(desk->Admit(StreamId{2}, *end.plan, 0, true, SteadyNow()).ok());
  return desk->Stats().at(0).promise.taken;
}

// The source has a key picture every two seconds: the second stream decodes three times as many
// pictures.
TEST(StreamSession, WhatLiesBeforeItsStartIsNotTakenForTheCostOfItsFrames) {
  const std::string request = "width=64 height=36 bitrate=50k acodec=none duration=0.6";
  static_cast<void>(NeedAfter(request));
  const double at_key = NeedAfter(request + " start=4");
  EXPECT_LT(NeedAfter(request + " start=5.3"), 1.7 * at_key);
}

void ExpectCleanCertificate(const char* movie, const std::string& params) {
  SCOPED_TRACE(std::string(movie) + " " + params);
  const auto engine = MakeEngine("hearth", 2);
  const StreamSnapshot end = RunStream(*engine, movie, params).snapshot;
  ASSERT_EQ(end.state, StreamState::kDone);
  EXPECT_EQ(end.seams.units, end.units_planned);
  EXPECT_GT(end.seams.joins, 1);
  EXPECT_EQ(end.seams.joins, end.units_planned - 1);
  EXPECT_EQ(end.seams.violations(), 0) << SeamsJson(end.seams, *end.seam_log);
  EXPECT_EQ(end.seams.frames_out, end.frames_planned);
  EXPECT_GT(end.seams.audio_samples, 0);
  EXPECT_EQ(end.seam_log->Newest().size(), static_cast<std::size_t>(end.seams.joins));
  for (const Seam& seam : end.seam_log->Newest()) EXPECT_NE(seam.parameter_hash, 0U);
}

TEST(StreamSession, SeamsAreCleanOverAllKindsOfCuts) {
  const std::string small = std::string(kSmallRequest) + " duration=6";
  ExpectCleanCertificate("ref-street.mpg", small);  // closed GOPs
  ExpectCleanCertificate("ref-street.mpg", small + " container=ts fps=23.976");
  ExpectCleanCertificate("ref-street.mpg", small + " maxrate=80k bufsize=80k unit=1");
  ExpectCleanCertificate("open-gop-480p.ts", small + " container=mkv");
  // Long GOPs, cut into units that hand their run on.
  ExpectCleanCertificate("modern-720p.mp4", small + " unit=0.5 maxrate=90k bufsize=60k");
  ExpectCleanCertificate("hevc10-540p.mp4",
                         small + " unit=0.5 vcodec=hevc preset=ultrafast container=ts");
}

// Constant quality, with a cap that it would break, and constant quantisers.
TEST(StreamSession, SeamsAreCleanInTheOtherRateModes) {
  const std::string size = "width=176 height=144 fit=stretch fps=15";
  const std::string capped = " duration=6 crf=16 maxrate=100k bufsize=50k unit=1";
  ExpectCleanCertificate("ref-street.mpg", size + capped);
  ExpectCleanCertificate("ref-street.mpg", size + capped + " vcodec=hevc preset=ultrafast");
  ExpectCleanCertificate("ref-street.mpg", size + " duration=6 qp=30");
}

// A client that stops reading holds its own window and nothing else.
TEST(StreamSession, StalledClientHoldsItsWindowWhileOthersFinish) {
  const auto engine = MakeEngine("h-cahrw", 2);
  std::promise<void> let_go;
  std::shared_future<void> gate(let_go.get_future());
  constexpr std::size_t kWindow = 512 << 10;
  TestStream stalled(
      *engine, 0, "ref-street.mpg", kSmallRequest,
      [gate](std::span<const std::uint8_t>) {
        gate.wait();
        return OkStatus();
      },
      [](SessionSpec& spec) { spec.limits.window_bytes = kWindow; });
  TestStream other(*engine, 1, "ref-talk.mpg", std::string(kSmallRequest) + " duration=20");
  EXPECT_EQ(other.Finish().snapshot.state, StreamState::kDone);
  const StreamSnapshot held = stalled.session().Snapshot();
  EXPECT_EQ(held.state, StreamState::kRunning);
  EXPECT_LT(held.source_bytes, static_cast<std::int64_t>(kWindow + (300 << 10)))
      << "the ingest stopped at the window: the movie has 7 MB";
  let_go.set_value();
  const Outcome end = stalled.Finish();
  EXPECT_EQ(end.snapshot.state, StreamState::kDone);
  EXPECT_EQ(end.snapshot.frames_out, end.snapshot.frames_planned);
}

double CpuMillis() {
  timespec used{};
  GOPMILL_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
  return 1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec);
}

// From the moment a client leaves in mid-stream until no worker has anything of it.
struct Leaving {
  double millis = 0, cpu_millis = 0;
};
Leaving LeaveInMidStream(Engine& engine, std::uint64_t number) {
  std::promise<void> first_byte;
  std::atomic<bool> told{false};
  TestStream stream(engine, number, "modern-720p.mp4",
                    "width=640 height=360 bitrate=1M preset=medium unit=3 acodec=none",
                    [&](std::span<const std::uint8_t>) {
                      if (!told.exchange(true)) first_byte.set_value();
                      return OkStatus();
                    });
  first_byte.get_future().wait();
  const TimePoint left = SteadyNow();
  const double cpu = CpuMillis();
  stream.session().Cancel();
  const Outcome outcome = stream.Finish();
  EXPECT_EQ(outcome.snapshot.state, StreamState::kCancelled);
  EXPECT_TRUE(AllIdle(engine));
  return {.millis = ToMillis(SteadyNow() - left), .cpu_millis = CpuMillis() - cpu};
}

// CPU time does not grow on a loaded machine as the clock's does; so that they wait for nothing,
// the quickest of several must tell. Bigger pictures are in docs/BENCHMARKS.md.
TEST(StreamSession, ClientThatLeavesFreesTheCoresWithin100MsOfCpuTime) {
  const auto engine = MakeEngine("h-cahrw", 2);
  std::vector<Leaving> leavings;
  for (std::uint64_t number = 0; number < 5; ++number) {
    leavings.push_back(LeaveInMidStream(*engine, number));
  }
#if !defined(__SANITIZE_THREAD__)  // several times slower
  std::ranges::sort(leavings, {}, &Leaving::cpu_millis);
  EXPECT_LT(leavings[leavings.size() / 2].cpu_millis, 100);
  EXPECT_LT(std::ranges::min(leavings, {}, &Leaving::millis).millis, 100);
#endif
}

// A disk that does not answer holds the thread that reads it, whatever is cancelled; who destroys
// what is over shall not wait for it.
TEST(StreamSession, IsOverWhenItsReadingIs) {
  const auto engine = MakeEngine("fifo", 1);
  std::promise<void> reading, answer, over;
  std::future<void> told = over.get_future();
  TestStream stream(*engine, 0, "ref-talk.mpg", kSmallRequest, {}, [&](SessionSpec& spec) {
    spec.open = [&]() -> Result<UniqueFd> {
      reading.set_value();
      answer.get_future().wait();
      return Error{.code = Code::kIo, .message = "The disk is gone."};
    };
    spec.on_closed = [&](StreamId) { over.set_value(); };
  });
  reading.get_future().wait();
  stream.session().Cancel();
  while (!stream.session().WaitFor(std::chrono::milliseconds(100))) continue;
  EXPECT_EQ(told.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "the client is told, but a thread is not back";
  answer.set_value();
  EXPECT_EQ(told.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(stream.Finish().snapshot.state, StreamState::kCancelled);
}

TEST(StreamSession, FailingSinkEndsItsStreamAlone) {
  const auto engine = MakeEngine("fifo", 2);
  TestStream failing(*engine, 0, "ref-street.mpg", kSmallRequest,
                     [](std::span<const std::uint8_t>) {
                       return Status(Error{.code = Code::kIo, .message = "The client is gone."});
                     });
  TestStream other(*engine, 1, "ref-talk.mpg", std::string(kSmallRequest) + " duration=10");
  const Outcome failed = failing.Finish();
  EXPECT_EQ(failed.snapshot.state, StreamState::kFailed);
  ASSERT_TRUE(failed.snapshot.error.has_value());
  EXPECT_EQ(failed.snapshot.error->code, Code::kIo);
  EXPECT_EQ(other.Finish().snapshot.state, StreamState::kDone);
}

TEST(StreamSession, ErrorBeforeTheFirstByteNeverStartsTheSink) {
  const auto engine = MakeEngine("fifo", 1);
  const Outcome outcome = RunStream(*engine, "../manifest.json", kSmallRequest);
  EXPECT_EQ(outcome.snapshot.state, StreamState::kFailed);
  EXPECT_FALSE(outcome.started);
  EXPECT_EQ(outcome.snapshot.error->code, Code::kUnsupported);
}

// While it lives, this process can have one thread more: stacks are that large, and there is
// address space for one and a half.
class RoomForOneThread {
 public:
  RoomForOneThread() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &stack_before_);
    pthread_attr_setstacksize(&attributes, kStack);
    pthread_setattr_default_np(&attributes);
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + kStack + kStack / 2;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~RoomForOneThread() {
    setrlimit(RLIMIT_AS, &before_);
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, stack_before_);
    pthread_setattr_default_np(&attributes);
  }
  RoomForOneThread(const RoomForOneThread&) = delete;
  RoomForOneThread& operator=(const RoomForOneThread&) = delete;

 private:
  static constexpr std::size_t kStack = std::size_t{2} << 30U;
  rlimit before_{};
  std::size_t stack_before_ = 0;
};

class NotingSink : public StreamSink {
 public:
  explicit NotingSink(std::optional<Status>& end) : end_(end) {}
  Status Start(const StreamStart& /*start*/) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> /*bytes*/) override { return OkStatus(); }
  void Finish(const StreamEnd& end) override { end_ = end.status; }

 private:
  std::optional<Status>& end_;
};

// Its caller may be the loop of the HTTP server.
TEST(StreamSession, OneThatGetsOneThreadIsGoneWithoutItsSource) {
  const auto engine = MakeEngine("fifo", 1);
  std::promise<void> let_go;
  std::atomic<bool> opened = false, closed = false;
  std::optional<Status> end;
  SessionSpec spec;
  spec.id = StreamId{1};
  spec.request = Request(kSmallRequest);
  spec.open = [&opened, gate = let_go.get_future().share()]() -> Result<UniqueFd> {
    opened = true;
    gate.wait_for(std::chrono::seconds(10));  // a disk that does not answer
    return Error{.code = Code::kIo, .message = "The disk has answered at last."};
  };
  spec.sink = std::make_unique<NotingSink>(end);
  spec.on_closed = [&closed](StreamId) { closed = true; };
  auto session = StreamSession::Create(std::move(spec), engine->scheduler());
  ASSERT_TRUE(session.ok());
  Status launched;
  {
    const RoomForOneThread room;
    launched = (*session)->Launch();
  }
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().code, Code::kUnavailable);
  session->reset();
  EXPECT_FALSE(opened) << "it was waited for";
  EXPECT_FALSE(closed) << "nobody has been given this stream";
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->error().code, Code::kCancelled);
  let_go.set_value();
}

TEST(StreamSession, TwentyAtOnceAllFinishWhole) {
  const auto engine = MakeEngine("h-cahrw", 2);
  const char* movies[] = {"ref-animation.mpg", "ref-patterns.mpg", "ref-street.mpg",
                          "ref-talk.mpg"};
  std::vector<std::unique_ptr<TestStream>> streams;
  for (std::uint64_t i = 0; i < 20; ++i) {
    streams.push_back(std::make_unique<TestStream>(
        *engine, i, movies[i % 4], "width=128 height=96 fps=15 bitrate=50k unit=gop duration=4"));
  }
  for (auto& stream : streams) {
    const Outcome outcome = stream->Finish();
    EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
    EXPECT_EQ(outcome.snapshot.frames_out, 60);
  }
  EXPECT_TRUE(AllIdle(*engine));
}

TEST(StreamSession, CancellingAtAnyMomentNeverHangs) {
  const auto engine = MakeEngine("h-cahrw", 2);
  for (const int round : {0, 1, 2, 3, 4, 6, 9, 14, 24}) {
    std::atomic<int> writes{0};
    StreamSession* session = nullptr;
    std::promise<void> ready;
    auto wait = ready.get_future().share();
    TestStream stream(*engine, static_cast<std::uint64_t>(round), "ref-street.mpg", kSmallRequest,
                      [&, wait](std::span<const std::uint8_t>) {
                        wait.wait();
                        if (writes++ == round) session->Cancel();
                        return OkStatus();
                      });
    session = &stream.session();
    ready.set_value();
    if (round == 0) session->Cancel();
    const Outcome outcome = stream.Finish();
    EXPECT_NE(outcome.snapshot.state, StreamState::kRunning);
  }
  EXPECT_TRUE(AllIdle(*engine));
}

}  // namespace
}  // namespace gopmill::test
