// SPDX-License-Identifier: Apache-2.0
//
// Movies that are read before anybody asks for them: which, when, and that nobody pays for it.
#include "server/segments/index_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/segments/segment_service.h"
#include "server/stream/engine.h"
#include "tests/integration/held_reading.h"

namespace gopmill::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCacheBytes = 1 << 24;
constexpr auto kSoon = std::chrono::milliseconds(20);

std::string Cue(const std::string& text) {
  return "1\n00:00:01,000 --> 00:00:02,500\n" + text + "\n\n";
}

class IndexAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-ahead-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "movies");
    auto library = Library::Open((folder_ / "movies").string());
    ASSERT_TRUE(library.ok());
    library_.emplace(std::move(library).value());
    scripts_.emplace(*library_);
    auto engine = Engine::Create({.scheduler = {.workers = 1}});
    ASSERT_TRUE(engine.ok()) << engine.error().ToString();
    engine_ = std::move(engine).value();
  }
  void TearDown() override {
    End();
    fs::remove_all(folder_);
  }
  void End() {
    ahead_.reset();
    service_.reset();
    kept_.reset();
  }
  // As a start of the server does, with what an earlier one left on disk.
  void StartServer() {
    End();
    kept_ = DiskCache::Open((folder_ / "kept").string(), kCacheBytes, "indexes");
    const SegmentOptions options{.defaults = {},
                                 .cache_folder = "",
                                 .movies = kept_.get(),
                                 .indexer = [this](UniqueFd fd, const std::stop_token& stop,
                                                   int audio, std::vector<SubtitleTrack> beside) {
                                   return reading_.Index(std::move(fd), stop, audio,
                                                         std::move(beside));
                                 }};
    service_.emplace(*library_, *scripts_, engine_->scheduler(), options);
    ASSERT_TRUE(service_->Start().ok());
  }
  void StartAhead(Duration settled = std::chrono::minutes(1), Duration look_again = kSoon) {
    const auto activity = [this] {
      ++looks_;
      return activity_ ? activity_() : IndexAhead::Activity{};
    };
    ahead_.emplace(*library_, *service_, *kept_, activity,
                   IndexAheadTimes{.look_again = look_again,
                                   .settled = settled,
                                   .quiet = std::chrono::milliseconds(100),
                                   .poll = kSoon});
    ASSERT_TRUE(ahead_->Start().ok());
  }

  // `age` in hours since its last change.
  void Add(const std::string& name, const std::string& movie = "sync-720p.mp4", int age = 1) {
    const fs::path file = folder_ / "movies" / name;
    fs::copy_file(fs::path("movies/files") / movie, folder_ / "coming",
                  fs::copy_options::overwrite_existing);
    SetAge(folder_ / "coming", age);
    fs::rename(folder_ / "coming", file);
  }
  void AddText(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / "coming") << text;
    SetAge(folder_ / "coming", 1);
    fs::rename(folder_ / "coming", folder_ / "movies" / name);
  }
  static void SetAge(const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  // False after a minute.
  static bool Await(const std::function<bool()>& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool AwaitRead(std::uint64_t count) {
    return Await([&] { return ahead_->stats().read >= count; });
  }
  bool AwaitLooks(int more) {
    return Await([this, least = looks_ + more] { return looks_ >= least; });
  }
  std::future<Result<MediaPart>> Ask(const std::string& movie) {
    auto answer = std::make_shared<std::promise<Result<MediaPart>>>();
    service_->Open({.path = movie, .name = "master.m3u8", .params = {}, .if_none_match = ""},
                   [answer](Result<MediaPart> made) { answer->set_value(std::move(made)); });
    return answer->get_future();
  }

  fs::path folder_;
  std::optional<Library> library_;
  std::optional<ScriptShelf> scripts_;
  std::unique_ptr<Engine> engine_;
  HeldReading reading_;
  std::function<IndexAhead::Activity()> activity_;  // to be set before StartAhead
  std::atomic<int> looks_ = 0;
  std::unique_ptr<DiskCache> kept_;
  std::optional<SegmentService> service_;
  std::optional<IndexAhead> ahead_;
};

TEST_F(IndexAheadTest, ReadsEachMovieOnceForAllTime) {
  Add("a.mp4");
  AddText("a.en.srt", Cue("one"));
  AddText("a.de.srt", Cue("eins"));
  Add("b.ts", "open-gop-480p.ts");
  StartServer();
  StartAhead();
  ASSERT_TRUE(AwaitRead(2));
  Add("c.mp4");
  ASSERT_TRUE(AwaitRead(3)) << "one that has come since";
  EXPECT_EQ(reading_.reads(), 3);
  EXPECT_EQ(ahead_->stats().failed, 0U);
  EXPECT_EQ(service_->stats().playlists, 0U) << "nobody has asked for any";
  EXPECT_EQ(kept_->stats().hits, 0U);
  EXPECT_TRUE(Ask("a.mp4").get().ok());
  EXPECT_EQ(kept_->stats().hits, 1U) << "memory has none of them";

  StartServer();
  EXPECT_TRUE(Ask("a.mp4").get().ok());
  Add("d.mp4");
  StartAhead();
  ASSERT_TRUE(AwaitRead(1));
  EXPECT_TRUE(Await([&] { return ahead_->stats().waiting == 0; }));
  EXPECT_EQ(reading_.reads(), 4) << "only d.mp4 had to be";
  AddText("a.en.srt", Cue("another"));
  ASSERT_TRUE(AwaitRead(2)) << "with the other text";
  EXPECT_EQ(reading_.reads(), 5);
}

TEST_F(IndexAheadTest, TriesBadFilesOnceUntilTheyChange) {
  AddText("bad.mp4", "no movie");
  Add("good.mp4");
  StartServer();
  StartAhead();
  ASSERT_TRUE(AwaitRead(1));
  Add("later.mp4");
  ASSERT_TRUE(AwaitRead(2)) << "at a later look";
  EXPECT_EQ(ahead_->stats().failed, 1U);
  EXPECT_EQ(service_->stats().failed, 0U) << "nobody was refused anything";
  Add("bad.mp4");
  ASSERT_TRUE(AwaitRead(3));
  EXPECT_EQ(ahead_->stats().failed, 1U);
}

TEST_F(IndexAheadTest, LeavesWhatMayStillBeCopied) {
  Add("being-copied.mp4", "sync-720p.mp4", 0);
  Add("old.mp4");
  StartServer();
  StartAhead();
  ASSERT_TRUE(AwaitRead(1));
  EXPECT_EQ(reading_.reads(), 1);
  ahead_.reset();
  SetAge(folder_ / "movies" / "being-copied.mp4", 1);
  StartAhead();
  ASSERT_TRUE(AwaitRead(1));
  EXPECT_EQ(reading_.reads(), 2);
}

TEST_F(IndexAheadTest, LooksForItAgainAsSoonAsItMayHaveSettled) {
  Add("being-copied.mp4", "sync-720p.mp4", 0);
  StartServer();
  StartAhead(std::chrono::seconds(2), std::chrono::hours(1));
  ASSERT_TRUE(AwaitRead(1));
}

TEST_F(IndexAheadTest, WaitsUntilNobodyIsServed) {
  std::atomic<bool> busy = true;
  activity_ = [&] { return IndexAhead::Activity{.busy = busy, .requests = 0}; };
  Add("a.mp4");
  StartServer();
  StartAhead();
  ASSERT_TRUE(AwaitLooks(10));
  EXPECT_EQ(reading_.reads(), 0);
  EXPECT_EQ(ahead_->stats().waiting, 1);
  busy = false;
  ASSERT_TRUE(AwaitRead(1));
}

TEST_F(IndexAheadTest, WaitsWhileSomethingIsAskedNowAndThen) {
  std::atomic<bool> asks = true;
  std::atomic<std::uint64_t> requests = 0;
  activity_ = [&] {
    if (asks) ++requests;
    return IndexAhead::Activity{.busy = false, .requests = requests};
  };
  Add("a.mp4");
  StartServer();
  StartAhead();
  ASSERT_TRUE(AwaitLooks(10));
  EXPECT_EQ(reading_.reads(), 0);
  asks = false;
  ASSERT_TRUE(AwaitRead(1));
}

TEST_F(IndexAheadTest, ReadsTogetherWithWhoAsksMeanwhile) {
  Add("a.mp4");
  StartServer();
  reading_.Hold();
  StartAhead();
  ASSERT_TRUE(reading_.AwaitReads(1));
  auto viewer = Ask("a.mp4");
  reading_.Release();
  EXPECT_TRUE(viewer.get().ok());
  ASSERT_TRUE(AwaitRead(1));
  EXPECT_EQ(reading_.reads(), 1);
  EXPECT_EQ(service_->stats().playlists, 1U) << "the viewer's";
}

TEST_F(IndexAheadTest, EndsWhileAMovieIsRead) {
  Add("a.mp4");
  Add("b.mp4");
  StartServer();
  reading_.Hold();
  StartAhead();
  ASSERT_TRUE(reading_.AwaitReads(1));
  End();
  EXPECT_EQ(reading_.reads(), 1);
}

TEST_F(IndexAheadTest, PushesNoIndexOut) {
  Add("a.mp4");
  StartServer();
  const auto bytes = std::make_shared<const std::string>(kCacheBytes / 4 - 1024, 'x');
  for (const char* key : {"a0", "a1", "a2", "a3"}) kept_->Put(key, bytes);
  ASSERT_GT(kept_->fill(), kFullestAhead);
  StartAhead();
  ASSERT_TRUE(AwaitLooks(10));
  EXPECT_EQ(reading_.reads(), 0);
  kept_->Drop("a0");
  ASSERT_TRUE(AwaitRead(1));
}

}  // namespace
}  // namespace gopmill::test
