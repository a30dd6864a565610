// SPDX-License-Identifier: Apache-2.0
//
// What the shelf keeps of movies, also of those that were read for requests that got an error.
#include "server/segments/movie_shelf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "tests/integration/bad_disk.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

// Indexes that say they take so many bytes; which of them are still there can be asked.
class MovieShelfTest : public testing::Test {
 protected:
  void SetUp() override {
    auto library = Library::Open("movies/files");
    ASSERT_TRUE(library.ok());
    library_.emplace(std::move(library).value());
    scripts_.emplace(*library_);
    shelf_.emplace(*library_, *scripts_,
                   [this](UniqueFd fd, const std::stop_token& stop, int,
                          std::vector<SubtitleTrack>) { return Index(std::move(fd), stop); });
  }

  Result<std::shared_ptr<const SourceIndex>> Index(UniqueFd fd, const std::stop_token& stop) {
    if (!read_) {
      GOPMILL_ASSIGN_OR_RETURN(read_, IndexSource(std::move(fd), stop));
    }
    auto index = std::make_shared<SourceIndex>(*read_);
    index->video.reserve(bytes_ / sizeof(SourceIndex::Video));
    if (seconds_ > 0) {
      index->video_end = ToTicks({seconds_, 1}, index->source->video.time_base);
    }
    indexes_.push_back(index);
    return std::shared_ptr<const SourceIndex>(std::move(index));
  }

  // Begins behind the end of the movie, so that nothing can be planned.
  void AskInVain(int audio_track) {
    const RequestParams params{{"start", "5000"}};
    auto request = ParseSegmentParams(params, {});
    ASSERT_TRUE(request.ok());
    request->target.audio.first = audio_track;
    RequestParams named = params;
    named.emplace_back("audio", std::to_string(audio_track));
    EXPECT_FALSE(shelf_->Get("ref-talk.mpg", *request, named, {}).ok());
  }
  // So many that what was asked for before has no place any more.
  void AskForOthers() {
    for (int track = 1; track <= static_cast<int>(kMaxShelvedFiles); ++track) AskInVain(track);
  }
  // A request that can be planned.
  Result<Shelved> Ask(const std::string& path) {
    GOPMILL_ASSIGN_OR_RETURN(const auto request, ParseSegmentParams({}, {}));
    return shelf_->Get(path, request, {}, {});
  }
  [[nodiscard]] std::int64_t Kept() const {
    return std::ranges::count_if(indexes_, [](const auto& index) { return !index.expired(); });
  }

  std::optional<Library> library_;
  std::optional<ScriptShelf> scripts_;
  std::shared_ptr<const SourceIndex> read_;
  std::vector<std::weak_ptr<const SourceIndex>> indexes_;
  std::size_t bytes_ = 0;
  std::int64_t seconds_ = 0;  // that the movie lasts, if not as long as it does
  std::optional<MovieShelf> shelf_;
};

TEST_F(MovieShelfTest, IndexesOfFailedRequestsAreBoundedInBytes) {
  bytes_ = kMaxIndexBytes / 4 + (1 << 16);
  for (int track = 1; track <= 12; ++track) AskInVain(track);
  EXPECT_EQ(indexes_.size(), 12U);
  EXPECT_EQ(Kept(), 3);
}

TEST_F(MovieShelfTest, OneThatIsLargerThanTheBoundIsKeptAlone) {
  AskInVain(1);
  bytes_ = kMaxIndexBytes + (1 << 16);
  AskInVain(2);
  AskInVain(2);
  EXPECT_EQ(indexes_.size(), 2U) << "read once";
  EXPECT_EQ(Kept(), 1);
}

TEST_F(MovieShelfTest, SmallIndexesAreBoundedInNumber) {
  constexpr int kAsked = static_cast<int>(kMaxShelvedFiles) + 9;
  for (int track = 1; track <= kAsked; ++track) AskInVain(track);
  EXPECT_EQ(Kept(), static_cast<std::int64_t>(kMaxShelvedFiles));
}

TEST_F(MovieShelfTest, OneThatIsBeingWatchedStays) {
  ASSERT_TRUE(Ask("ref-talk.mpg").ok());
  constexpr int kOthers = 3 * static_cast<int>(kMaxShelvedFiles);
  for (int track = 1; track <= kOthers; ++track) {
    AskInVain(track);
    const auto known = shelf_->Known("ref-talk.mpg", {});
    ASSERT_TRUE(known.ok());
    ASSERT_TRUE(known->has_value()) << "behind " << track << " others";
  }
}

// A plan has numbers for each segment of each rendition.
TEST_F(MovieShelfTest, PlansAreBoundedInBytes) {
  constexpr int kAsked = 28;
  seconds_ = 240'000;
  const auto asked = [](int number) {
    return RequestParams{
        {"width", "64"}, {"segment", "0.5"}, {"bitrate", std::to_string(100'000 + number)}};
  };
  for (int number = 0; number < kAsked; ++number) {
    const auto request = ParseSegmentParams(asked(number), {});
    ASSERT_TRUE(request.ok());
    const auto shelved = shelf_->Get("ref-talk.mpg", *request, asked(number), {});
    ASSERT_TRUE(shelved.ok()) << shelved.error().ToString();
    ASSERT_GT(shelved->movie->footprint_bytes(), kMaxPlanBytes / kAsked);
  }
  std::size_t bytes = 0;
  for (int number = 0; number < kAsked; ++number) {
    const auto known = shelf_->Known("ref-talk.mpg", asked(number));
    ASSERT_TRUE(known.ok());
    if (known->has_value()) bytes += (*known)->movie->footprint_bytes();
  }
  EXPECT_TRUE(shelf_->Known("ref-talk.mpg", asked(kAsked - 1)).value().has_value());
  EXPECT_LE(bytes, kMaxPlanBytes);
  EXPECT_GT(bytes, kMaxPlanBytes / 2);
}

// Files of the library that this process has open.
int OpenMovies() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the folder's own
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    count += !gone && target.extension() == ".mpg" ? 1 : 0;
  }
  return count;
}

TEST_F(MovieShelfTest, FilesAreClosedWhenNobodyHasReadThemForAWhile) {
  const auto movie = Ask("ref-talk.mpg");
  ASSERT_TRUE(movie.ok());
  for (int i = 0; i < 2; ++i) {
    auto reader = shelf_->Reader(*movie, {});
    ASSERT_TRUE(reader.ok());
    EXPECT_LE(OpenMovies(), kReaderDescriptors);
    movie->file->GiveReader(std::move(reader).value());
  }
  const TimePoint now = SteadyNow();
  EXPECT_TRUE(shelf_->TakeIdle(now - kReaderIdle).empty());
  EXPECT_GT(OpenMovies(), 0) << "it may be wanted again at once";
  auto idle = shelf_->TakeIdle(now + std::chrono::seconds(1));
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle.front().path, "ref-talk.mpg");
  EXPECT_GT(OpenMovies(), 0) << "it is left to the caller, who may have to wait";
  idle.clear();
  EXPECT_EQ(OpenMovies(), 0);
  EXPECT_TRUE(shelf_->Reader(*movie, {}).ok()) << "opened again";
}

TEST_F(MovieShelfTest, FilesThatAreDroppedKeepNobodyWaiting) {
  constexpr const char* kDropped = "ref-street.mpg";
  {
    const auto movie = Ask(kDropped);
    ASSERT_TRUE(movie.ok());
    auto reader = shelf_->Reader(*movie, {});
    ASSERT_TRUE(reader.ok());
    movie->file->GiveReader(std::move(reader).value());
  }
  std::optional<HungDisk> hung(MoviePath(kDropped));
  const auto dropped = std::async(std::launch::async, [this] { AskForOthers(); });
  const bool comes = dropped.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  hung.reset();
  ASSERT_TRUE(comes);
  auto unused = shelf_->TakeUnshelved();
  ASSERT_EQ(unused.size(), 1U);
  EXPECT_EQ(unused.front().path, kDropped);
  EXPECT_GT(OpenMovies(), 0);
  unused.clear();
  EXPECT_EQ(OpenMovies(), 0);
}

TEST_F(MovieShelfTest, FilesThatAreDroppedKeepNoReader) {
  const auto movie = Ask("ref-street.mpg");
  ASSERT_TRUE(movie.ok());
  auto reader = shelf_->Reader(*movie, {});
  ASSERT_TRUE(reader.ok());
  AskForOthers();
  movie->file->GiveReader(std::move(reader).value());
  EXPECT_EQ(OpenMovies(), 0) << "it would be closed wherever the file goes last";
}

}  // namespace
}  // namespace gopmill::test
