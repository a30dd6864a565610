// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_request.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SegmentDefaults Defaults() { return {.segment_seconds = 2, .ladder = {{640, 360, 700'000}}}; }

TEST(PartNameTest, ReadsTheNamesOfPlaylists) {
  EXPECT_EQ(ParsePartName("master.m3u8")->kind, PartKind::kMaster);
  EXPECT_EQ(ParsePartName("manifest.mpd")->kind, PartKind::kManifest);
  const auto playlist = ParsePartName("a0.m3u8");
  ASSERT_TRUE(playlist.ok());
  EXPECT_EQ(playlist->kind, PartKind::kPlaylist);
  EXPECT_EQ(playlist->track, PartTrack::kAudio);
  const auto text = ParsePartName("s3-12.vtt"), whole = ParsePartName("s3.vtt");
  ASSERT_TRUE(text.ok() && whole.ok());
  EXPECT_EQ(text->kind, PartKind::kSegment);
  EXPECT_EQ(text->track, PartTrack::kSubtitles);
  EXPECT_EQ(text->number, 12);
  EXPECT_EQ(whole->kind, PartKind::kWhole);
  EXPECT_EQ(whole->rendition, 3);
  const auto sheet = ParsePartName("t0-7.jpg"), times = ParsePartName("t0.vtt");
  ASSERT_TRUE(sheet.ok() && times.ok());
  EXPECT_EQ(sheet->kind, PartKind::kSegment);
  EXPECT_EQ(sheet->track, PartTrack::kThumbnails);
  EXPECT_EQ(sheet->number, 7);
  EXPECT_EQ(times->kind, PartKind::kWhole);
  const auto still = ParsePartName("p1-12500.jpg");
  ASSERT_TRUE(still.ok());
  EXPECT_EQ(still->kind, PartKind::kSegment);
  EXPECT_EQ(still->track, PartTrack::kStills);
  EXPECT_EQ(still->rendition, 1);
  EXPECT_EQ(still->number, 12'500);
  const auto key = ParsePartName("i0-3.ts");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->track, PartTrack::kIFrames);
  EXPECT_EQ(key->container, Container::kTs);
  const auto init = ParsePartName("v2-init.mp4");
  ASSERT_TRUE(init.ok());
  EXPECT_EQ(init->kind, PartKind::kInit);
  EXPECT_EQ(init->rendition, 2);
  const auto segment = ParsePartName("v11-170.ts");
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->kind, PartKind::kSegment);
  EXPECT_EQ(segment->rendition, 11);
  EXPECT_EQ(segment->number, 170);
  EXPECT_EQ(segment->container, Container::kTs);
}

TEST(PartNameTest, IsWrittenAsItIsRead) {
  for (const char* name : {"master.m3u8", "manifest.mpd", "a0.m3u8", "s3-12.vtt", "s3.vtt",
                           "t0.m3u8", "t0-7.jpg", "t0.vtt", "p0-0.jpg", "i0-3.ts", "i0-3.m4s",
                           "v2-init.mp4", "v11-170.ts", "v0-0.m4s", "a0-5.ts"}) {
    EXPECT_EQ(TextOf(*ParsePartName(name)), name);
  }
}

TEST(PartNameTest, RefusesEverythingElse) {
  for (const char* name : {"",
                           "v",
                           "v0",
                           "v0.",
                           "v0-",
                           "v0-.m4s",
                           "v-1.m4s",
                           "v0-01.m4s",
                           "v00-1.m4s",
                           "v0-+1.m4s",
                           "v0-1.m4s ",
                           " v0-1.m4s",
                           "v0-1.mp4",
                           "p0.jpg",
                           "p0.m3u8",
                           "p0-1.m4s",
                           "p0-1.ts",
                           "p0-init.mp4",
                           "p0-1.5.jpg",
                           "p0--1.jpg",
                           "v0-1-2.m4s",
                           "v0--1.m4s",
                           "v0-1e3.m4s",
                           "v0-9999999999.m4s",
                           "v9999999999-1.m4s",
                           "s0-1.m4s",
                           "s0-1.ts",
                           "s0-init.mp4",
                           "s0-.vtt",
                           "v0-1.vtt",
                           "v0.vtt",
                           "s.vtt",
                           "V0-1.m4s",
                           "v0-init.m4s",
                           "master.m3u",
                           "MASTER.M3U8",
                           "v0-1.m4s\n",
                           "v0-0x1.m4s"}) {
    const auto part = ParsePartName(name);
    ASSERT_FALSE(part.ok()) << name;
    EXPECT_EQ(part.error().code, Code::kNotFound) << name;
  }
}

TEST(RungsTest, ReadsALadder) {
  const auto rungs = ParseRungs("1280x720:2.5M,640x360:700k", "rungs");
  ASSERT_TRUE(rungs.ok());
  EXPECT_THAT(*rungs, ElementsAre(Rung{1280, 720, 2'500'000}, Rung{640, 360, 700'000}));
}

TEST(RungsTest, RefusesWhatIsNone) {
  for (const char* text : {"", ",", "640x360", "640:700k", "x360:700k", "640x:700k",
                           "640x360:", "640x360:0", "640x360:700k,", "640x360:700k,640x360:700k",
                           "8x8:700k", "99999x360:700k", "640x360:999999999999999999999",
                           "-640x360:700k", "640x360:700k;640x360:1M", "640:360x700k"}) {
    const auto rungs = ParseRungs(text, "rungs");
    ASSERT_FALSE(rungs.ok()) << text;
    EXPECT_EQ(rungs.error().parameter, "rungs");
  }
  std::string many = "64x64:100k";
  for (int i = 1; i < 13; ++i) many += "," + std::to_string(64 + i) + "x64:100k";
  EXPECT_FALSE(ParseRungs(many, "rungs").ok());
}

TEST(SegmentParamsTest, ALadderUnlessOneRenditionIsAskedFor) {
  EXPECT_THAT(ParseSegmentParams({}, Defaults())->rungs, SizeIs(1));
  EXPECT_FALSE(ParseSegmentParams({}, Defaults())->rungs_given);
  EXPECT_THAT(ParseSegmentParams({{"width", "320"}}, Defaults())->rungs, IsEmpty());
  EXPECT_THAT(ParseSegmentParams({{"crf", "30"}, {"maxrate", "1M"}}, Defaults())->rungs, IsEmpty());
  EXPECT_TRUE(ParseSegmentParams({{"rungs", "64x64:100k"}}, Defaults())->rungs_given);
  EXPECT_EQ(ParseSegmentParams({{"segment", "4"}}, Defaults())->segment_seconds, 4);
}

// The help of gopmill package is made of it.
TEST(SegmentParamsTest, ListsWhatIsTaken) {
  std::set<std::string_view> taken;
  for (const ParamDoc& doc : SegmentParams()) taken.insert(doc.name);
  for (const ParamDoc& doc : TargetParams()) {
    const bool refused = doc.name == "unit" || doc.name == "qp";
    EXPECT_EQ(taken.contains(doc.name), !refused) << doc.name;
  }
  const auto listed = [](std::string_view name, const std::string& value) {
    const auto docs = SegmentParams();
    const auto doc = std::ranges::find(docs, name, &ParamDoc::name);
    return doc != docs.end() && doc->accepted.find(value) != std::string_view::npos;
  };
  for (const auto& [name, values] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"container", {"mp4", "ts", "mkv", "webm"}},
           {"vcodec", {"h264", "hevc", "av1", "vp9", "mpeg4"}},
           {"acodec", {"aac", "opus", "copy", "none"}},
           {"audio", {"1", "all"}},
           {"subtitles", {"off", "copy"}}}) {
    for (const char* value : values) {
      EXPECT_EQ(ParseSegmentParams({{name, value}}, Defaults()).ok(), listed(name, value))
          << name << " " << value;
    }
  }
  EXPECT_EQ(ParseSegmentParams({{"vcodec", "xvid"}}, Defaults()).error().accepted,
            "h264, hevc, av1, vp9");
}

TEST(SegmentParamsTest, NamesTheParameterThatCannotBe) {
  const auto parameter = [](const RequestParams& params) {
    const auto parsed = ParseSegmentParams(params, Defaults());
    return parsed.ok() ? std::string() : parsed.error().parameter;
  };
  EXPECT_EQ(parameter({{"container", "mkv"}}), "container");
  EXPECT_EQ(parameter({{"vcodec", "mpeg4"}}), "vcodec");
  EXPECT_EQ(parameter({{"acodec", "copy"}}), "acodec");
  EXPECT_EQ(parameter({{"acodec", "opus"}, {"container", "ts"}}), "acodec");
  EXPECT_EQ(parameter({{"acodec", "opus"}, {"container", "mp4"}}), "");
  EXPECT_EQ(parameter({{"unit", "2"}}), "unit");
  EXPECT_EQ(parameter({{"qp", "20"}}), "qp");
  EXPECT_EQ(parameter({{"crf", "20"}}), "maxrate");
  EXPECT_EQ(parameter({{"segment", "0.1"}}), "segment");
  EXPECT_EQ(parameter({{"segment", "21"}}), "segment");
  EXPECT_EQ(parameter({{"rungs", "64x64:100k"}, {"bitrate", "1M"}}), "rungs");
  EXPECT_EQ(parameter({{"colour", "red"}}), "colour");
}

TEST(SegmentParamsTest, AnUnknownOneIsToldWhatThereIs) {
  const auto parsed = ParseSegmentParams({{"rung", "1"}}, Defaults());
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().parameter, "rung");
  EXPECT_THAT(parsed.error().accepted, testing::StartsWith("rungs, segment, version, width"));
  EXPECT_THAT(parsed.error().accepted, testing::Not(testing::HasSubstr("qp")));
}

TEST(SegmentQueryTest, HasAFixedOrderAndEscapesWhatTextsGiveAMeaning) {
  const RequestParams params{{"width", "320"}, {"class", "a&b<\"$%\r\n"}, {"version", "old"}};
  EXPECT_EQ(QueryFor(params, "abc"), "?class=a%26b%3C%22%24%25%0D%0A&width=320&version=abc");
}

}  // namespace
}  // namespace gopmill
