// SPDX-License-Identifier: Apache-2.0
//
// A disk or a share that fails while a movie is read: nothing is kept of that, or what was half
// read would be served as the whole.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "server/segments/movie_shelf.h"
#include "server/service/media_service.h"
#include "tests/integration/bad_disk.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

constexpr const char* kMovie = "ref-talk.mpg";

std::int64_t HalfOf(const char* movie) {
  return static_cast<std::int64_t>(std::filesystem::file_size(MoviePath(movie))) / 2;
}

Result<std::shared_ptr<const SourceIndex>> IndexFile(const std::string& path) {
  return IndexSource(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {});
}

auto MakeListingService() {
  ServerConfig config;
  config.library = "movies/files";
  config.scheduler.workers = 1;
  config.segments.cache_bytes = 0;
  return MediaService::Create(config);
}

TEST(FailingDisks, AMovieThatWasReadInPartHasNoIndex) {
  const FailingDisk bad(HalfOf(kMovie));
  const auto index = IndexFile(MoviePath(kMovie));
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::kIo);
}

TEST(FailingDisks, AMovieThatIsShortHasOne) {
  const std::string half = testing::TempDir() + "/gopmill-half.mpg";
  std::filesystem::copy_file(MoviePath(kMovie), half,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(half, static_cast<std::uintmax_t>(HalfOf(kMovie)));
  const auto index = IndexFile(half);
  std::filesystem::remove(half);
  EXPECT_TRUE(index.ok());
}

TEST(FailingDisks, WhatCouldNotBeOpenedIsNotCalledAnotherKindOfFile) {
  const FailingDisk bad(1);  // where the list of its samples goes on
  const auto source =
      Source::Open(UniqueFd(open(MoviePath("modern-720p.mp4").c_str(), O_RDONLY | O_CLOEXEC)), {});
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, Code::kIo) << source.error().ToString();
}

TEST(FailingDisks, TheNextWhoAsksForTheMovieHasAllOfIt) {
  auto library = Library::Open("movies/files");
  ASSERT_TRUE(library.ok());
  ScriptShelf scripts(*library);
  MovieShelf shelf(*library, scripts);
  const auto request = ParseSegmentParams({}, {});
  ASSERT_TRUE(request.ok());
  {
    const FailingDisk bad(HalfOf(kMovie));
    const auto movie = shelf.Get(kMovie, *request, {}, {});
    ASSERT_FALSE(movie.ok());
    EXPECT_EQ(movie.error().code, Code::kIo);
  }
  const auto movie = shelf.Get(kMovie, *request, {}, {});
  ASSERT_TRUE(movie.ok()) << movie.error().ToString();
  const auto index = IndexFile(MoviePath(kMovie));
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(movie->movie->index->video.size(), (*index)->video.size());
}

TEST(FailingDisks, TheListOfSourcesLooksAgain) {
  const auto service = MakeListingService();
  ASSERT_TRUE(service.ok()) << service.error().ToString();
  const auto list = [&] {
    std::promise<Result<SharedText>> answer;
    (*service)->Sources({}, [&](Result<SharedText> json) { answer.set_value(std::move(json)); });
    const auto json = answer.get_future().get();
    return json.ok() ? **json : json.error().ToString();
  };
  {
    const FailingDisk bad(0);
    EXPECT_NE(list().find("\"error\""), std::string::npos);
  }
  const std::string json = list();
  EXPECT_EQ(json.find("\"error\""), std::string::npos) << json;
}

// They would keep those out, or waiting, that somebody waits for.
TEST(FailingDisks, PlansThatNobodyWaitsForAreNotMade) {
  std::vector<std::stop_source> left(kMaxFileRequests);
  std::stop_source begun_left;
  std::atomic<int> made = 0;
  std::promise<Result<std::string>> begun;
  std::promise<Result<SharedText>> listed;
  const auto service = MakeListingService();
  ASSERT_TRUE(service.ok()) << service.error().ToString();
  {
    const HungDisk hung(MoviePath(kMovie));
    (*service)->Explain(kMovie, {}, begun_left.get_token(),
                        [&](Result<std::string> json) { begun.set_value(std::move(json)); });
    ASSERT_TRUE(HungDisk::AwaitWaiting(1));
    for (const std::stop_source& each : left) {
      (*service)->Explain(kMovie, {}, each.get_token(), [&](const auto& /*json*/) { ++made; });
    }
    begun_left.request_stop();
    for (std::stop_source& each : left) each.request_stop();
    (*service)->Sources({}, [&](Result<SharedText> json) { listed.set_value(std::move(json)); });
  }
  const auto plan = begun.get_future().get();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kCancelled) << plan.error().ToString();
  const auto sources = listed.get_future().get();
  EXPECT_TRUE(sources.ok()) << sources.error().ToString();
  EXPECT_EQ(made, 0);
}

// Otherwise the last segment of the one would be taken from the cache for one of the other's.
TEST(FailingDisks, PlansOfAnotherLengthShareNoSegments) {
  const auto whole = IndexFile(MoviePath(kMovie));
  ASSERT_TRUE(whole.ok());
  auto half = std::make_shared<SourceIndex>(**whole);
  half->video.resize(half->video.size() / 2);
  half->audio.resize(half->audio.size() / 2);
  half->video_end = half->video.back().pts;
  const auto request = ParseSegmentParams({}, {});
  ASSERT_TRUE(request.ok());
  const FileIdentity file{.movie = "the same", .texts = ""};
  const auto long_movie = PlanMovie(*whole, *request, {}, file, nullptr);
  const auto short_movie = PlanMovie(half, *request, {}, file, nullptr);
  ASSERT_TRUE(long_movie.ok() && short_movie.ok());
  EXPECT_NE((*long_movie)->video.front().identity, (*short_movie)->video.front().identity);
  ASSERT_TRUE((*long_movie)->audio && (*short_movie)->audio);
  EXPECT_NE((*long_movie)->audio->identity, (*short_movie)->audio->identity);
}

}  // namespace
}  // namespace gopmill::test
