// SPDX-License-Identifier: Apache-2.0
//
// What the shelf keeps of movies that were read for requests that got an error.
#include "server/session/movie_shelf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

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
  [[nodiscard]] std::int64_t Kept() const {
    return std::ranges::count_if(indexes_, [](const auto& index) { return !index.expired(); });
  }

  std::optional<Library> library_;
  std::optional<ScriptShelf> scripts_;
  std::shared_ptr<const SourceIndex> read_;
  std::vector<std::weak_ptr<const SourceIndex>> indexes_;
  std::size_t bytes_ = 0;
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

}  // namespace
}  // namespace gopmill::test
