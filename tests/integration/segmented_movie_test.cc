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

#include "media/segment_reader.h"
#include "server/segments/segment_work.h"
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

// Why the part is not made: it is not read then.
std::string Refusal(const std::shared_ptr<const SourceIndex>& index, PartTrack track,
                    std::int64_t number) {
  const auto movie = Planned(index);
  EXPECT_TRUE(movie.ok());
  auto reader = SegmentReader::Open(
      UniqueFd(open(MoviePath("sync-720p.mp4").c_str(), O_RDONLY | O_CLOEXEC)), index, {});
  EXPECT_TRUE(reader.ok());
  const PartName name{.kind = PartKind::kSegment, .track = track, .number = number};
  const auto work = ReadSegmentWork(*movie, name, **reader);
  if (work.ok()) return "none";
  EXPECT_EQ(work.error().code, Code::kUnsupported);
  EXPECT_EQ(WorkBytes(**movie, name), 0);
  return work.error().message;
}

TEST(SegmentedMovie, SoundThatClaimsToGoOnForEverIsRefused) {
  const auto index = IndexOf("sync-720p.mp4");
  index->audio.back().position = std::int64_t{48'000} * 10'000'000'000;
  const auto movie = Planned(index);
  ASSERT_FALSE(movie.ok());
  EXPECT_EQ(movie.error().code, Code::kInvalidArgument);
  EXPECT_EQ(movie.error().parameter, "segment");
}

// Packets have a price each, however small they are.
TEST(SegmentedMovie, ASegmentIsMadeOfNoMorePacketsThanFit) {
  const auto index = IndexOf("sync-720p.mp4");
  EXPECT_EQ(Refusal(index, PartTrack::kVideo, 0), "none");
  EXPECT_EQ(Refusal(index, PartTrack::kAudio, 0), "none");
  const auto many = std::make_shared<SourceIndex>(*index);
  SourceIndex::Video small = many->video[1];
  small.bytes = 1;
  small.access = RandomAccess::kNone;
  many->video.insert(many->video.begin() + 1, 300'000, small);
  EXPECT_NE(Refusal(many, PartTrack::kVideo, 0).find("too few key frames"), std::string::npos);
  EXPECT_NE(Refusal(many, PartTrack::kStills, 70).find("too few key frames"), std::string::npos);
  const auto heavy = std::make_shared<SourceIndex>(*index);
  for (std::size_t n = 0; n < 3; ++n) heavy->audio[n].bytes = 100 << 20;
  EXPECT_NE(Refusal(heavy, PartTrack::kAudio, 0).find("too much sound"), std::string::npos);
}

}  // namespace
}  // namespace gopmill::test
