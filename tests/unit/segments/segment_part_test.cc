// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_part.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "media/segment_plan.h"

namespace gopmill {
namespace {

SegmentedMovie MovieOf(std::int64_t segments, const std::string& query) {
  SegmentedMovie movie;
  movie.segments.fps = {2, 1};
  for (std::int64_t k = 0; k <= segments; ++k) movie.segments.borders.push_back(k);
  movie.query = query;
  return movie;
}

constexpr PartName kPictures{.kind = PartKind::kPlaylist};

// Each line repeats what the client has sent.
TEST(SegmentPart, APlaylistThatWouldBeTooLongIsRefused) {
  const auto part = TextPart(MovieOf(50'000, "?rungs=" + std::string(1500, '0')), kPictures, {});
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, Code::kUnsupported);
  EXPECT_EQ(part.error().parameter, "segment");
}

// A sound of so many segments, whose lengths are equal or not.
SoundOf Sound(std::int64_t segments, bool regular) {
  auto movie = std::make_shared<SegmentedMovie>();
  AudioGrid& grid = movie->audio.emplace().grid;
  grid = {.rate = 48'000, .frame_size = 1024, .borders = {0}};
  for (std::int64_t k = 0; k < segments; ++k) {
    grid.borders.push_back(grid.borders.back() + (regular ? 24 : 23 + k % 2));
  }
  grid.samples = grid.borders.back() * grid.frame_size;
  return movie;
}

TEST(SegmentPart, AManifestThatWouldBeTooLongIsRefused) {
  const PartName manifest{.kind = PartKind::kManifest};
  SegmentedMovie movie = MovieOf(kMaxSegments, "");
  movie.container = Container::kTs;  // refused by itself, but later
  for (const bool regular : {false, true}) {
    const std::vector<SoundOf> sounds(4, Sound(kMaxSegments, regular));
    const auto part = TextPart(movie, manifest, sounds);
    ASSERT_FALSE(part.ok());
    EXPECT_EQ(part.error().parameter, regular ? "container" : "segment")
        << "runs of one length are one line";
  }
}

TEST(SegmentPart, TheMostSegmentsOfAPlanHaveAPlaylist) {
  const auto part = TextPart(MovieOf(kMaxSegments, "?version=0123456789ab"), kPictures, {});
  ASSERT_TRUE(part.ok()) << part.error().ToString();
  EXPECT_LT(part->bytes->size(), kMaxPlaylistBytes);
  EXPECT_NE(part->bytes->find("v0-499999.m4s?version=0123456789ab\n"), std::string::npos);
}

}  // namespace
}  // namespace gopmill
