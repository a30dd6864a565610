// SPDX-License-Identifier: Apache-2.0
//
// The plan of a movie in segments beside that of the same movie as a stream.
#include "server/segments/segmented_movie.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

TEST(SegmentedMovie, APartHasThePicturesThatTheStreamHas) {
  const std::string path = MoviePath("sync-720p.mp4");
  const auto index = IndexSource(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {});
  ASSERT_TRUE(index.ok()) << index.error().ToString();
  for (const auto& [start, duration] : std::vector<std::pair<const char*, const char*>>{
           {"0", "1"}, {"0", "1.01"}, {"0", "1.03"}, {"3.21", "1.01"}, {"2", "0.999"}}) {
    auto movie = OpenMovie("sync-720p.mp4")({});
    ASSERT_TRUE(movie.ok());
    const auto request =
        ParseSegmentParams({{"fps", "30"}, {"start", start}, {"duration", duration}}, {});
    ASSERT_TRUE(request.ok()) << request.error().ToString();
    auto ingest = Ingest::Open(*std::move(movie), request->target);
    ASSERT_TRUE(ingest.ok()) << ingest.error().ToString();
    const auto units = UnitsOf(**ingest);
    ASSERT_FALSE(units.empty());
    const auto segmented = PlanMovie(*index, *request, {}, {}, nullptr);
    ASSERT_TRUE(segmented.ok()) << segmented.error().ToString();
    EXPECT_EQ((*segmented)->segments.frames(), units.back()->spec.end_frame)
        << duration << " s from " << start << " s on";
  }
}

std::shared_ptr<SourceIndex> IndexOf(const std::string& name) {
  const auto index = IndexSource(UniqueFd(open(MoviePath(name).c_str(), O_RDONLY | O_CLOEXEC)), {});
  EXPECT_TRUE(index.ok());
  return std::make_shared<SourceIndex>(**index);
}

Result<std::shared_ptr<const SegmentedMovie>> Planned(std::shared_ptr<const SourceIndex> index) {
  const auto request = ParseSegmentParams({}, {});
  EXPECT_TRUE(request.ok());
  return PlanMovie(std::move(index), *request, {}, {}, nullptr);
}

TEST(SegmentedMovie, SoundThatClaimsToGoOnForEverIsRefused) {
  const auto index = IndexOf("sync-720p.mp4");
  index->audio.back().position = std::int64_t{48'000} * 10'000'000'000;
  const auto movie = Planned(index);
  ASSERT_FALSE(movie.ok());
  EXPECT_EQ(movie.error().code, Code::kInvalidArgument);
  EXPECT_EQ(movie.error().parameter, "segment");
}

}  // namespace
}  // namespace gopmill::test
