// SPDX-License-Identifier: Apache-2.0
//
// The plan of a movie in segments beside that of the same movie as a stream.
#include "server/segments/segmented_movie.h"

#include <fcntl.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gopmill::test
