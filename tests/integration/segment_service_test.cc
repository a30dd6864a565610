// SPDX-License-Identifier: Apache-2.0
//
// Segments that are made on demand, of real movies: what an observer hears of them, and who waits
// for whom.
#include "server/segments/segment_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/service/media_service.h"
#include "server/stream/engine.h"
#include "tests/integration/bad_disk.h"
#include "tests/integration/held_reading.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::SizeIs;

class Notes : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override {
    const MutexLock lock(mutex_);
    lives_.push_back(life);
  }
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override { ++released; }
  std::vector<UnitLife> Take() {
    const MutexLock lock(mutex_);
    return std::exchange(lives_, {});
  }

  std::atomic<int> released = 0;

 private:
  Mutex mutex_;
  std::vector<UnitLife> lives_ GOPMILL_GUARDED_BY(mutex_);
};

// Keeps no segments, so that each request is a job.
class ObservedSegments : public testing::Test {
 protected:
  void SetUp() override {
    ServerConfig config;
    config.library = "movies/files";
    config.scheduler.workers = 2;
    config.scheduler.classes = "live:3:0:0:5000,batch:1";
    config.segments.cache_bytes = 0;
    auto created = MediaService::Create(config, notes_);
    ASSERT_TRUE(created.ok()) << created.error().ToString();
    service_ = std::move(created).value();
  }
  // The job's report comes before the answer.
  UnitLife Make(const std::string& name, const std::string& service_class = "live") {
    std::promise<Result<MediaPart>> answer;
    service_->OpenPart({.path = "sync-720p.mp4",
                        .name = name,
                        .params = {{"width", "192"},
                                   {"bitrate", "60k"},
                                   {"preset", "ultrafast"},
                                   {"class", service_class}},
                        .if_none_match = ""},
                       [&](Result<MediaPart> part) { answer.set_value(std::move(part)); });
    const Result<MediaPart> part = answer.get_future().get();
    EXPECT_TRUE(part.ok()) << part.error().ToString();
    const std::vector<UnitLife> lives = notes_->Take();
    EXPECT_THAT(lives, SizeIs(1)) << name;
    return lives.empty() ? UnitLife{} : lives.front();
  }

  const std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  std::unique_ptr<MediaService> service_;
};

TEST_F(ObservedSegments, EachThatIsMadeIsAUnitOfItsRendition) {
  const UnitLife third = Make("v0-3.m4s"), first = Make("v0-0.m4s"), again = Make("v0-3.m4s");
  for (const UnitLife& life : {third, first, again}) {
    EXPECT_EQ(life.report.outcome, JobOutcome::kDone);
    EXPECT_EQ(life.report.unit, life.spec.unit);
    EXPECT_EQ(life.spec.unit.stream, third.spec.unit.stream);
    EXPECT_EQ(life.spec.context, third.spec.context);
    EXPECT_EQ(life.spec.frames, 60U);
    EXPECT_GT(life.spec.cost_bytes, 1000U);
    EXPECT_GT(life.report.cpu, Duration::zero());
    EXPECT_GT(life.stats.aside_cpu, Duration::zero()) << "who waits has a thread that decodes";
    EXPECT_LE(life.spec.deadline - life.report.submitted, std::chrono::seconds(5));
    EXPECT_TRUE(life.keeps_contexts);
  }
  EXPECT_LT(third.spec.unit.index, first.spec.unit.index) << "in the order of requests";
  EXPECT_LT(first.spec.unit.index, again.spec.unit.index);
  EXPECT_TRUE(third.report.cold && third.report.opening > Duration::zero());
  EXPECT_EQ(notes_->released, 0);
}

TEST_F(ObservedSegments, ClassesOfARenditionAreStreamsThatShareContexts) {
  const UnitLife live = Make("v0-1.m4s"), batch = Make("v0-1.m4s", "batch");
  EXPECT_NE(live.spec.unit.stream, batch.spec.unit.stream);
  EXPECT_EQ(live.spec.context, batch.spec.context);
  EXPECT_EQ(live.spec.service_class, 0);
  EXPECT_EQ(batch.spec.service_class, 1);
  EXPECT_EQ(batch.spec.deadline, kNoDeadline);
}

TEST_F(ObservedSegments, SoundAndThumbnailsAreUnitsOfTheirOwnStreams) {
  const UnitLife sound = Make("a0-0.m4s"), sheet = Make("t0-0.jpg"), key = Make("i0-2.m4s");
  EXPECT_FALSE(sound.keeps_contexts);
  EXPECT_FALSE(sound.report.cold);
  EXPECT_EQ(sound.spec.frames, 0U);
  EXPECT_TRUE(sheet.keeps_contexts && sheet.report.cold);
  EXPECT_EQ(key.spec.frames, 1U);
  EXPECT_NE(sound.spec.unit.stream, sheet.spec.unit.stream);
  EXPECT_NE(sheet.spec.unit.stream, key.spec.unit.stream);
}

class SlowMovies : public testing::Test {
 protected:
  using Answer = std::future<Result<MediaPart>>;
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-slow-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_NO_FATAL_FAILURE(Start("movies/files"));
  }
  void Start(const std::string& movies, std::int64_t making_bytes = kMaxMakingBytes,
             std::size_t keeping_bytes = kMaxKeepingBytes) {
    service_.reset();
    auto library = Library::Open(movies);
    ASSERT_TRUE(library.ok());
    library_.emplace(std::move(library).value());
    scripts_.emplace(*library_);
    auto engine = Engine::Create({.scheduler = {.workers = 1}});
    ASSERT_TRUE(engine.ok()) << engine.error().ToString();
    engine_ = std::move(engine).value();
    const SegmentOptions options{.defaults = {},
                                 .cache_folder = (folder_ / "cache").string(),
                                 .cache_bytes = 1 << 26,
                                 .indexer =
                                     [this](UniqueFd fd, const std::stop_token& stop, int audio,
                                            std::vector<SubtitleTrack> beside) {
                                       return reading_.Index(std::move(fd), stop, audio,
                                                             std::move(beside));
                                     },
                                 .making_bytes = making_bytes,
                                 .keeping_bytes = keeping_bytes};
    service_.emplace(*library_, *scripts_, engine_->scheduler(), options);
    ASSERT_TRUE(service_->Start().ok());
  }
  void TearDown() override {
    service_.reset();  // it may be writing to its cache
    std::filesystem::remove_all(folder_);
  }

  Answer Ask(const std::string& movie, const std::string& part, PartTicket* number = nullptr,
             const std::string& width = "192") {
    auto answer = std::make_shared<std::promise<Result<MediaPart>>>();
    const PartTicket ticket =
        service_->Open({.path = movie,
                        .name = part,
                        .params = {{"width", width}, {"bitrate", "60k"}, {"preset", "ultrafast"}},
                        .if_none_match = ""},
                       [answer](Result<MediaPart> made) { answer->set_value(std::move(made)); });
    if (number != nullptr) *number = ticket;
    return answer->get_future();
  }
  // Jobs that wait, and those that a worker has beside the one it runs.
  std::uint64_t Jobs() {
    const SchedulerStats stats = engine_->scheduler().Stats();
    std::uint64_t waiting = stats.waiting_units;
    for (const WorkerStats& worker : stats.workers) {
      waiting += static_cast<std::uint64_t>(worker.queued_units);
    }
    return waiting;
  }
  static bool Comes(const Answer& answer) {
    return answer.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }

  static constexpr const char* kQuick = "sync-720p.mp4";
  std::filesystem::path folder_;
  std::optional<Library> library_;
  std::optional<ScriptShelf> scripts_;
  std::unique_ptr<Engine> engine_;
  HeldReading reading_;
  std::optional<SegmentService> service_;  // goes first
};

TEST_F(SlowMovies, KeepThoseOfOtherMoviesFromNothing) {
  ASSERT_TRUE(Ask(kQuick, "v0-0.m4s").get().ok());
  reading_.Hold();
  std::vector<Answer> waiting;
  const std::vector<std::string> slow{"ref-talk.mpg", "ref-street.mpg", "ref-patterns.mpg"};
  for (const std::string& movie : slow) {
    for (int i = 0; i < 10; ++i) waiting.push_back(Ask(movie, "master.m3u8"));
  }
  ASSERT_TRUE(reading_.AwaitReads(4)) << "each is read once, however many ask";
  for (const char* part : {"v0-0.m4s", "v0.m3u8", "v0-1.m4s"}) {
    Answer answer = Ask(kQuick, part);
    ASSERT_TRUE(Comes(answer)) << part << " waits for other movies";
    EXPECT_TRUE(answer.get().ok()) << part;
  }
  reading_.Release();
  for (Answer& answer : waiting) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_TRUE(answer.get().ok());
  }
  EXPECT_TRUE(reading_.AwaitReads(4)) << "nothing was read again";
}

// As many as there are threads that read.
TEST_F(SlowMovies, ManyThatAreOpenedKeepAViewerFromNothing) {
  ASSERT_TRUE(Ask(kQuick, "v0-0.m4s").get().ok());
  reading_.Hold();
  std::vector<Answer> waiting;
  for (const char* movie : {"ref-talk.mpg", "ref-street.mpg", "ref-patterns.mpg",
                            "ref-animation.mpg", "open-gop-480p.ts", "hevc10-540p.mp4"}) {
    waiting.push_back(Ask(movie, "master.m3u8"));
  }
  static_assert(kReadThreads == 6);
  ASSERT_TRUE(reading_.AwaitReads(1 + kMaxWholeReads));
  Answer viewer = Ask(kQuick, "v0-1.m4s");
  const bool comes = Comes(viewer);
  reading_.Release();
  ASSERT_TRUE(comes) << "it waits for movies that others open";
  EXPECT_TRUE(viewer.get().ok());
  for (Answer& answer : waiting) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_TRUE(answer.get().ok());
  }
}

// Another rendition of it is planned from what is known.
TEST_F(SlowMovies, AKnownOneIsPlannedAnewWhileManyAreOpened) {
  ASSERT_TRUE(Ask(kQuick, "v0-0.m4s").get().ok());
  reading_.Hold();
  std::vector<Answer> waiting;
  for (const char* movie : {"ref-talk.mpg", "ref-street.mpg", "ref-patterns.mpg",
                            "ref-animation.mpg", "open-gop-480p.ts"}) {
    waiting.push_back(Ask(movie, "master.m3u8"));
  }
  ASSERT_TRUE(reading_.AwaitReads(1 + kMaxWholeReads));
  Answer other = Ask(kQuick, "v0.m3u8", nullptr, "128");
  const bool comes = Comes(other);
  reading_.Release();
  ASSERT_TRUE(comes);
  EXPECT_TRUE(other.get().ok());
  for (Answer& answer : waiting) EXPECT_TRUE(Comes(answer));
}

TEST_F(SlowMovies, DoNotTakeAllPlaces) {
  ASSERT_TRUE(Ask(kQuick, "master.m3u8").get().ok());
  reading_.Hold();
  std::vector<Answer> waiting;
  std::vector<PartTicket> tickets;
  for (std::size_t i = 0; i < kMaxWaitingForMovie + 2; ++i) {  // one of them reads
    tickets.push_back(0);
    waiting.push_back(Ask("ref-talk.mpg", "master.m3u8", &tickets.back()));
  }
  const auto ready = [](const Answer& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const TimePoint end = SteadyNow() + std::chrono::seconds(60);
  while (std::ranges::none_of(waiting, ready) && SteadyNow() < end) std::this_thread::yield();
  const auto refused = std::ranges::find_if(waiting, ready);
  ASSERT_NE(refused, waiting.end());
  EXPECT_EQ(refused->get().error().code, Code::kUnavailable);
  Answer quick = Ask(kQuick, "master.m3u8");
  ASSERT_TRUE(Comes(quick));
  EXPECT_TRUE(quick.get().ok());
  // Places of those who leave are free at once.
  for (const PartTicket ticket : tickets) service_->Cancel(ticket);
  EXPECT_GE(service_->stats().cancelled, kMaxWaitingForMovie);
  Answer another = Ask("ref-talk.mpg", "master.m3u8");
  reading_.Release();
  ASSERT_TRUE(Comes(another));
  EXPECT_TRUE(another.get().ok());
}

TEST_F(SlowMovies, AllWhoWaitAreAnsweredAtTheEnd) {
  reading_.Hold();
  std::vector<Answer> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(Ask("ref-talk.mpg", "master.m3u8"));
  ASSERT_TRUE(reading_.AwaitReads(1));
  service_.reset();
  for (Answer& answer : waiting) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_FALSE(answer.get().ok());
  }
}

// Keeps a worker until it is let go.
class KeptWorker {
 public:
  explicit KeptWorker(Scheduler& scheduler) {
    const JobSpec spec{.unit = {StreamId{1}, UnitIndex{0}}, .cost_bytes = 1};
    EXPECT_TRUE(scheduler.Submit(spec, std::make_unique<Kept>(free_, over_)).ok());
  }
  ~KeptWorker() {
    free_->set_value();
    ended_.wait();
  }
  KeptWorker(const KeptWorker&) = delete;
  KeptWorker& operator=(const KeptWorker&) = delete;

 private:
  class Kept final : public Job {
   public:
    using Promise = std::shared_ptr<std::promise<void>>;
    Kept(const Promise& free, Promise over) : free_(free->get_future()), over_(std::move(over)) {}
    JobOutcome Run(WorkerContext& /*worker*/) noexcept override {
      free_.wait();
      return JobOutcome::kDone;
    }
    void OnReport(const JobReport& /*report*/) noexcept override { over_->set_value(); }

   private:
    const std::future<void> free_;
    const Promise over_;
  };
  const std::shared_ptr<std::promise<void>> free_ = std::make_shared<std::promise<void>>();
  const std::shared_ptr<std::promise<void>> over_ = std::make_shared<std::promise<void>>();
  const std::future<void> ended_ = over_->get_future();
};

// A player that looks for a place asks for a segment and leaves, again and again.
TEST_F(SlowMovies, JobsThatNobodyWaitsForCount) {
  ASSERT_TRUE(Ask(kQuick, "master.m3u8").get().ok());
  std::optional<KeptWorker> kept(engine_->scheduler());
  const auto await_jobs = [&](std::uint64_t count) {
    const TimePoint end = SteadyNow() + std::chrono::seconds(60);
    while (Jobs() != count && SteadyNow() < end) std::this_thread::yield();
    return Jobs() == count;
  };
  ASSERT_TRUE(await_jobs(0));
  for (std::uint64_t i = 1; i <= kMaxSegmentJobs; ++i) {
    PartTicket ticket = 0;
    const Answer answer = Ask(kQuick, "v0-1.m4s", &ticket);
    ASSERT_TRUE(await_jobs(i));
    service_->Cancel(ticket);
  }
  Answer refused = Ask(kQuick, "v0-1.m4s");
  const bool comes = Comes(refused);
  kept.reset();
  ASSERT_TRUE(comes);
  EXPECT_EQ(refused.get().error().code, Code::kUnavailable);
  ASSERT_TRUE(await_jobs(0));
  Answer made = Ask(kQuick, "v0-1.m4s");
  EXPECT_TRUE(Comes(made) && made.get().ok());
}

// Else one client fills the memory with what many segments are made of.
TEST_F(SlowMovies, SegmentsAreReadAsPacketsOfOthersGo) {
  ASSERT_NO_FATAL_FAILURE(Start("movies/files", 1));  // one at a time
  ASSERT_TRUE(Ask(kQuick, "master.m3u8").get().ok());
  std::optional<KeptWorker> kept(engine_->scheduler());
  std::vector<Answer> answers;
  std::vector<PartTicket> tickets(4);
  for (const char* const part : {"v0-1.m4s", "v0-2.m4s", "a0-1.m4s", "t0-0.jpg"}) {
    answers.push_back(Ask(kQuick, part, &tickets[answers.size()]));
  }
  const TimePoint end = SteadyNow() + std::chrono::milliseconds(500);
  while (SteadyNow() < end && Jobs() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Jobs(), 1U);
  EXPECT_TRUE(Ask(kQuick, "master.m3u8").get().ok()) << "no thread waits for them";
  service_->Cancel(tickets[1]);
  EXPECT_EQ(service_->stats().cancelled, 1U);
  kept.reset();
  for (const std::size_t i : {0U, 2U, 3U}) {
    ASSERT_TRUE(Comes(answers[i])) << i;
    const auto made = answers[i].get();
    EXPECT_TRUE(made.ok()) << i << made.error().ToString();
  }
}

// The disk of the cache.
TEST_F(SlowMovies, ADiskThatKeepsSegmentsAndHangsKeepsThemFromNobody) {
  ASSERT_NO_FATAL_FAILURE(Start("movies/files", kMaxMakingBytes, 1));  // a single one waits
  ASSERT_TRUE(Ask(kQuick, "master.m3u8").get().ok());
  std::optional<HungDisk> hung(folder_ / "cache");
  Answer first = Ask(kQuick, "v0-0.m4s");
  EXPECT_TRUE(Comes(first) && first.get().ok());
  ASSERT_TRUE(HungDisk::AwaitWaiting(1));
  for (const char* part : {"v0-1.m4s", "v0-2.m4s", "v0-0.m4s"}) {
    Answer answer = Ask(kQuick, part);
    const bool comes = Comes(answer);
    if (!comes) hung.reset();
    ASSERT_TRUE(comes) << part << " waits for the disk of another";
    EXPECT_TRUE(answer.get().ok()) << part;
  }
  const SegmentStats stats = service_->stats();
  EXPECT_EQ(stats.made, 3U) << "what waits for the disk is there";
  EXPECT_EQ(stats.cache.hits, 1U);
  EXPECT_EQ(stats.cache.failed, 2U) << "they are not kept";
  hung.reset();
  const TimePoint end = SteadyNow() + std::chrono::seconds(60);
  while (service_->stats().cache.stored == 0 && SteadyNow() < end) std::this_thread::yield();
  EXPECT_EQ(service_->stats().cache.stored, 1U);
}

// A movie with two tracks of sound, known with the first: a manifest tells of the other, too.
class TwoSounds : public SlowMovies {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-sounds-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const std::filesystem::path movies = folder_ / "movies";
    std::filesystem::create_directories(movies);
    const std::string make = "ffmpeg -v error -nostdin -i '" + MoviePath(kQuick) +
                             "' -map 0:v -map 0:a -map 0:a -c copy '" + (movies / kTwo).string() +
                             "'";
    ASSERT_EQ(std::system(make.c_str()), 0);
    ASSERT_NO_FATAL_FAILURE(Start(movies));
    ASSERT_TRUE(Ask(kTwo, "v0-0.m4s").get().ok());
    ASSERT_TRUE(reading_.AwaitReads(1));
  }
  static constexpr const char* kTwo = "two.mp4";
};

TEST_F(TwoSounds, ManifestsKeepAViewerFromNothing) {
  reading_.Hold();
  std::vector<Answer> manifests;
  for (int i = 0; i < 2; ++i) manifests.push_back(Ask(kTwo, "manifest.mpd"));
  manifests.push_back(Ask(kTwo, "manifest.mpd", nullptr, "128"));
  ASSERT_TRUE(reading_.AwaitReads(2));
  Answer viewer = Ask(kTwo, "v0-1.m4s");
  const bool comes = Comes(viewer);
  reading_.Release();
  ASSERT_TRUE(comes) << "it waits for who asks for the manifest";
  EXPECT_TRUE(viewer.get().ok());
  for (Answer& answer : manifests) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_TRUE(answer.get().ok());
  }
  EXPECT_TRUE(reading_.AwaitReads(2)) << "it is read once for all";
}

TEST_F(TwoSounds, ManifestsDoNotTakeAllPlaces) {
  reading_.Hold();
  std::vector<Answer> manifests;
  for (std::size_t i = 0; i < kMaxWaitingForMovie + 2; ++i) {  // one of them reads
    manifests.push_back(Ask(kTwo, "manifest.mpd"));
  }
  const auto ready = [](const Answer& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const TimePoint end = SteadyNow() + std::chrono::seconds(60);
  while (std::ranges::none_of(manifests, ready) && SteadyNow() < end) std::this_thread::yield();
  const auto refused = std::ranges::find_if(manifests, ready);
  ASSERT_NE(refused, manifests.end());
  EXPECT_EQ(refused->get().error().code, Code::kUnavailable);
  manifests.erase(refused);
  reading_.Release();
  for (Answer& answer : manifests) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_TRUE(answer.get().ok());
  }
}

// Two movies, one of them on a disk of its own.
class TwoDisks : public SlowMovies {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-disks-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const std::filesystem::path movies = folder_ / "movies";
    std::filesystem::create_directories(movies / "disk");
    for (const char* movie : {kHere, kThere}) {
      std::filesystem::copy_file(MoviePath(kQuick), movies / movie);
    }
    ASSERT_NO_FATAL_FAILURE(Start(movies));
    for (const char* movie : {kHere, kThere}) {
      ASSERT_TRUE(Ask(movie, "v0-0.m4s").get().ok());
    }
  }
  [[nodiscard]] std::string PathThere() const { return folder_ / "movies" / kThere; }

  static constexpr const char* kHere = "here.mp4";
  static constexpr const char* kThere = "disk/there.mp4";
};

TEST_F(TwoDisks, OneThatHangsKeepsTheOtherFromNothing) {
  std::optional<HungDisk> hung(PathThere());
  std::vector<Answer> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(Ask(kThere, "v0-0.m4s"));
  ASSERT_TRUE(HungDisk::AwaitWaiting(kMaxLooksInFolder));
  for (const char* part : {"v0.m3u8", "v0-0.m4s", "v0-1.m4s"}) {  // the last one has to be made
    Answer answer = Ask(kHere, part);
    const bool comes = Comes(answer);
    if (!comes) hung.reset();
    ASSERT_TRUE(comes) << part << " waits for another disk";
    EXPECT_TRUE(answer.get().ok()) << part;
  }
  hung.reset();
  for (Answer& answer : waiting) {
    ASSERT_TRUE(Comes(answer));
    EXPECT_TRUE(answer.get().ok());
  }
}

TEST_F(TwoDisks, OneThatHangsDoesNotTakeAllPlaces) {
  std::optional<HungDisk> hung(PathThere());
  std::vector<Answer> waiting;
  std::vector<PartTicket> tickets;
  const auto ask = [&] {
    tickets.push_back(0);
    waiting.push_back(Ask(kThere, "v0-0.m4s", &tickets.back()));
  };
  for (int i = 0; i < kMaxLooksInFolder; ++i) ask();
  ASSERT_TRUE(HungDisk::AwaitWaiting(kMaxLooksInFolder));
  for (std::size_t i = 0; i < kMaxWaitingInFolder; ++i) ask();
  Answer refused = Ask(kThere, "v0-0.m4s");
  ASSERT_EQ(refused.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(refused.get().error().code, Code::kUnavailable);
  Answer here = Ask(kHere, "v0-0.m4s");
  EXPECT_TRUE(Comes(here) && here.get().ok());
  // Places of those who leave are free at once.
  for (const PartTicket ticket : tickets) service_->Cancel(ticket);
  Answer another = Ask(kThere, "v0-0.m4s");
  EXPECT_EQ(another.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  hung.reset();
  EXPECT_TRUE(Comes(another) && another.get().ok());
}

// Which readers would do together, had each to wait.
TEST_F(TwoDisks, OneThatHangsKeepsNotAllThreadsWhereItsMoviesAreClosed) {
  const std::filesystem::path disk = std::filesystem::path(PathThere()).parent_path();
  std::filesystem::copy_file(MoviePath(kQuick), folder_ / "movies" / "unread.mp4");
  for (int i = 0; i < kReadThreads; ++i) {
    const std::string name = std::to_string(i) + ".mp4";
    std::filesystem::copy_file(MoviePath(kQuick), disk / name);
    ASSERT_TRUE(Ask("disk/" + name, "v0-0.m4s").get().ok());
  }
  std::optional<HungDisk> hung(disk);
  service_->CloseReaders(SteadyNow());
  const bool closing = HungDisk::AwaitWaiting(kMaxReadsInFolder);
  Answer here = Ask("unread.mp4", "v0-0.m4s");
  const bool comes = Comes(here);
  hung.reset();
  EXPECT_TRUE(closing);
  ASSERT_TRUE(comes) << "it waits for another disk";
  EXPECT_TRUE(here.get().ok());
}

// How often this process has the file open.
std::int64_t Opened(const std::string& path) {
  std::error_code gone;  // the folder's own
  return std::ranges::count_if(
      std::filesystem::directory_iterator("/proc/self/fd"),
      [&](const auto& entry) { return std::filesystem::read_symlink(entry.path(), gone) == path; });
}

TEST_F(TwoDisks, MoviesThatAreNotKeptAreClosed) {
  ASSERT_GT(Opened(PathThere()), 0);
  for (std::size_t i = 0; i < kMaxShelvedFiles; ++i) {
    const std::string name = std::to_string(i) + ".mp4";
    std::filesystem::copy_file(MoviePath(kQuick), folder_ / "movies" / name);
    ASSERT_TRUE(Ask(name, "v0.m3u8").get().ok());
    std::filesystem::remove(folder_ / "movies" / name);
  }
  const TimePoint end = SteadyNow() + kReaderIdle / 2;
  while (Opened(PathThere()) > 0 && SteadyNow() < end) std::this_thread::yield();
  EXPECT_EQ(Opened(PathThere()), 0);
}

// Each movie takes no more than its own bound.
TEST_F(TwoDisks, MoviesThatAreReadDoNotTakeAllPlacesTogether) {
  const std::filesystem::path disk = std::filesystem::path(PathThere()).parent_path();
  for (const char* movie : {"a.mpg", "b.mpg"}) {
    std::filesystem::copy_file(MoviePath("ref-talk.mpg"), disk / movie);
  }
  reading_.Hold();
  std::vector<Answer> waiting;
  bool refused = false;
  for (std::size_t i = 0; i < kMaxPartRequests && !refused; ++i) {
    waiting.push_back(Ask(i % 2 == 0 ? "disk/a.mpg" : "disk/b.mpg", "master.m3u8"));
    refused = waiting.back().wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  EXPECT_TRUE(refused);
  Answer here = Ask(kHere, "v0-0.m4s");
  EXPECT_TRUE(Comes(here) && here.get().ok());
  reading_.Release();
  for (Answer& answer : waiting) EXPECT_TRUE(Comes(answer));
}

}  // namespace
}  // namespace gopmill::test
