// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_request.h"

#include <gmock/gmock.h>

namespace gopmill {
namespace {

using ::testing::Optional;

SegmentDefaults Defaults() { return {.segment_seconds = 2, .ladder = {{640, 360, 700'000}}}; }

Result<LiveRequest> Parse(const std::string& name, RequestParams params = {}) {
  return ParseLiveRequest(
      {.path = "live/cam", .name = name, .params = std::move(params), .if_none_match = {}},
      Defaults());
}

TEST(LiveRequestTest, ReadsPartsOfSegments) {
  const auto part = Parse("v1-17.3.m4s");
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->source, "cam");
  EXPECT_EQ(part->ask.name.rendition, 1);
  EXPECT_EQ(part->ask.name.number, 17);
  EXPECT_THAT(part->ask.part, Optional(3));
  EXPECT_FALSE(Parse("v1-17.m4s")->ask.part);
  for (const char* name : {"v0-1.01.m4s", "v0-1.-1.m4s", "v0-1..m4s", "v0-1.2.3.m4s", "v0-1.ts",
                           "v0-1.2.ts", "v0.1.m4s", "v0-init.1.mp4", "v0-1.9999999999.m4s"}) {
    const auto refused = Parse(name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kNotFound) << name;
  }
}

TEST(LiveRequestTest, ReadsWhatIsWaitedFor) {
  const auto both = Parse("a0.m3u8", {{"_HLS_msn", "12"}, {"_HLS_part", "4"}, {"width", "320"}});
  ASSERT_TRUE(both.ok());
  EXPECT_THAT(both->ask.wait_segment, Optional(12));
  EXPECT_THAT(both->ask.wait_part, Optional(4));
  EXPECT_EQ(both->key, Parse("v0.m3u8", {{"width", "320"}, {"version", "x"}})->key);
  EXPECT_NE(both->key, Parse("v0.m3u8", {{"width", "322"}})->key);
  const std::vector<RequestParams> bad = {
      {{"_HLS_part", "4"}},   {{"_HLS_msn", ""}},   {{"_HLS_msn", "-1"}},
      {{"_HLS_msn", "01"}},   {{"_HLS_msn", "1 "}}, {{"_HLS_msn", "9999999999"}},
      {{"_HLS_part", "x"}},   {{"_HLS_push", "1"}}, {{"_HLS_msn", "1"}, {"_HLS_msn", "1"}},
      {{"container", "mkv"}}, {{"start", "1"}},     {{"duration", "1"}},
      {{"segment", "10.5"}}};
  for (const RequestParams& params : bad) {
    const auto refused = Parse("v0.m3u8", params);
    ASSERT_FALSE(refused.ok()) << params.front().first << "=" << params.front().second;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(Parse("master.m3u8", {{"_HLS_msn", "1"}}).ok());
  EXPECT_FALSE(Parse("v0-1.m4s", {{"_HLS_msn", "1"}}).ok());
}

// At once, with or without a publisher.
TEST(LiveRequestTest, NoLiveSourceIsSoughtIn) {
  TargetRequest request;
  request.start = Rational{3, 1};
  const Status refused = CheckLiveTarget(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().parameter, "start");
  request.start = Rational{0, 1};
  request.duration = Rational{3, 1};
  EXPECT_TRUE(CheckLiveTarget(request).ok());
  // The text may stand beside the parameter alone.
  EXPECT_EQ(Parse("v0.m3u8", {{"start", "3"}}).error().accepted, "no start and no duration");
}

TEST(LiveRequestTest, TellsWhetherTheAddressHasAVersion) {
  EXPECT_TRUE(Parse("v0-1.m4s", {{"version", "x"}})->ask.versioned);
  EXPECT_FALSE(Parse("v0-1.m4s", {{"width", "320"}})->ask.versioned);
}

TEST(LiveRequestTest, TextInCmafHasSegmentsAndNoPlaylist) {
  const auto segment = Parse("x1-17.m4s");
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->ask.name.track, PartTrack::kTimedText);
  EXPECT_EQ(segment->ask.name.rendition, 1);
  EXPECT_TRUE(Parse("x0-init.mp4").ok());
  for (const char* name : {"x0.m3u8", "x0-1.0.m4s", "x0-1.ts", "x0-1.vtt", "x0.vtt", "x-1.m4s"}) {
    const auto refused = Parse(name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kNotFound) << name;
  }
}

TEST(LiveRequestTest, TransportStreamsHaveWholeSegments) {
  const RequestParams ts = {{"container", "ts"}};
  for (const char* name : {"master.m3u8", "v0.m3u8", "i0.m3u8", "s0.m3u8", "v0-17.ts", "a1-17.ts",
                           "i0-17.ts", "s0-17.vtt", "t0-17.jpg"}) {
    EXPECT_TRUE(Parse(name, ts).ok()) << name;
  }
  for (const char* name : {"v0-17.m4s", "v0-17.3.m4s", "v0-17.3.ts", "v0-init.mp4", "a0-init.mp4",
                           "i0-17.m4s", "x0-17.m4s", "x0-17.ts", "x0-init.mp4"}) {
    const auto refused = Parse(name, ts);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kNotFound) << name;
  }
  EXPECT_EQ(Parse("v0-17.m4s", ts).error().accepted, "v0-17.ts");
  EXPECT_EQ(Parse("v0-17.ts").error().accepted, "v0-17.m4s, or container=ts");
  const auto manifest = Parse("manifest.mpd", ts);
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().parameter, "container");
  EXPECT_NE(Parse("v0.m3u8", ts)->key, Parse("v0.m3u8")->key);
  EXPECT_FALSE(Parse("v0.m3u8", {{"container", "ts"}, {"acodec", "opus"}}).ok());
}

TEST(LiveRequestTest, ThumbnailsAreOnePictureForEachSegment) {
  const auto picture = Parse("t0-17.jpg");
  ASSERT_TRUE(picture.ok());
  EXPECT_EQ(picture->ask.name.track, PartTrack::kThumbnails);
  EXPECT_EQ(picture->ask.name.number, 17);
  EXPECT_TRUE(Parse("t0.m3u8", {{"_HLS_msn", "3"}, {"_HLS_skip", "YES"}}).ok());
  for (const char* name : {"t0.vtt", "t0--1.jpg", "t0-01.jpg", "t0-1.0.jpg", "t0-1.0.m4s",
                           "t0-1.m4s", "t0-1.vtt", "t0-1.ts", "t0-init.mp4", "t0-.jpg", "t-1.jpg",
                           "t0-9999999999.jpg", "v0-1.jpg", "p0-1.jpg"}) {
    const auto refused = Parse(name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kNotFound) << name;
  }
}

}  // namespace
}  // namespace gopmill
