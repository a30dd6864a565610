// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gopmill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RtspRequest, SplitsPathAndQuery) {
  const auto request = ParseRtspUrl("/clips/a%20b.mp4/", "width=640&fps=30000%2F1001&&vcodec=h264");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path, "clips/a b.mp4");
  EXPECT_THAT(request->params,
              ElementsAre(Pair("width", "640"), Pair("fps", "30000/1001"), Pair("vcodec", "h264")));
}

TEST(RtspRequest, APlusIsABlankInTheQueryOnly) {
  const auto request = ParseRtspUrl("/a+b.mp4", "class=x+y");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path, "a+b.mp4");
  EXPECT_THAT(request->params, ElementsAre(Pair("class", "x y")));
  EXPECT_THAT(ParseRtspUrl("/a", "")->params, IsEmpty());
}

TEST(RtspRequest, HasOneKeyWhateverTheOrderOfItsParameters) {
  const auto key = [](const char* path, const char* query) {
    return KeyOf(*ParseRtspUrl(path, query));
  };
  EXPECT_EQ(key("/a", "width=640&fps=30"), key("/a/", "fps=30&&width=6%340"));
  EXPECT_NE(key("/a", "width=640&fps=30"), key("/a", "width=640"));
  EXPECT_NE(key("/a", "width=640&fps=30"), key("/b", "width=640&fps=30"));
  EXPECT_NE(key("/a", "x=1%26y=2"), key("/a", "x=1&y=2"));
}

RequestParams Sought(const char* query, double seconds) {
  return ParamsAt(ParseRtspUrl("/a", query)->params, static_cast<std::int64_t>(seconds * 1e9));
}

TEST(RtspRequest, ASeekGoesIntoThePartOfTheMovieThatTheUrlNames) {
  EXPECT_THAT(
      Sought("start=1:00&fps=30&duration=30", 10),
      ElementsAre(Pair("start", "70.000000"), Pair("fps", "30"), Pair("duration", "20.000000")));
  EXPECT_THAT(Sought("duration=2.5", 1.25),
              ElementsAre(Pair("duration", "1.250000"), Pair("start", "1.250000")));
  EXPECT_THAT(Sought("fps=30", 0.04), ElementsAre(Pair("fps", "30"), Pair("start", "0.040000")));
  EXPECT_THAT(Sought("start=5&duration=3", 0),
              ElementsAre(Pair("start", "5"), Pair("duration", "3")));
}

// It ends the tracks, as any place does that cannot be opened.
TEST(RtspRequest, ASeekBehindThePartHasNoLength) {
  EXPECT_THAT(Sought("duration=2", 3),
              ElementsAre(Pair("duration", "0.000000"), Pair("start", "3.000000")));
  EXPECT_THAT(Sought("start=x", 3), ElementsAre(Pair("start", "x")));
}

struct BadUrl {
  const char* path;
  const char* query;
  const char* parameter;
};

class BadUrlTest : public testing::TestWithParam<BadUrl> {};

TEST_P(BadUrlTest, IsRefusedByName) {
  const auto request = ParseRtspUrl(GetParam().path, GetParam().query);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code, Code::kInvalidArgument);
  EXPECT_EQ(request.error().parameter, GetParam().parameter);
}

INSTANTIATE_TEST_SUITE_P(All, BadUrlTest,
                         testing::Values(BadUrl{"", "", "path"}, BadUrl{"///", "", "path"},
                                         BadUrl{"/a%", "", "path"}, BadUrl{"/a%2", "", "path"},
                                         BadUrl{"/a%zz", "", "path"}, BadUrl{"/a%00b", "", "path"},
                                         BadUrl{"/a%0d%0ab", "", "path"},
                                         BadUrl{"/a", "x=%0", "query"},
                                         BadUrl{"/a", "%00=1", "query"},
                                         BadUrl{"/a", "fps=1&fps=1", "fps"},
                                         BadUrl{"/a", "container=mp4", "container"}));

// By name and reason: the engine would only say that MPEG-TS does not hold it.
TEST(RtspRequest, RefusesAv1AndSaysWhatIsTaken) {
  const auto request = ParseRtspUrl("/a", "width=640&vcodec=av1");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(RtspStatusOf(request.error().code), 415);
  EXPECT_EQ(request.error().parameter, "vcodec");
  EXPECT_THAT(request.error().message, testing::HasSubstr("no payloader"));
  EXPECT_EQ(request.error().accepted, "h264, hevc, mpeg4, vp9");
}

TEST(RtspRequest, AsksForPacketsThatRtpCanCarry) {
  const auto container = [](const char* query) {
    return PacketContainer(ParseRtspUrl("/a", query)->params);
  };
  EXPECT_EQ(container(""), "ts");
  EXPECT_EQ(container("vcodec=h264"), "ts");
  EXPECT_EQ(container("vcodec=hevc&acodec=opus"), "ts");
  EXPECT_EQ(container("vcodec=mpeg4"), "ts");
  EXPECT_EQ(container("width=640&vcodec=vp9"), "mkv");
}

TEST(RtspRequest, RefusesLongUrls) {
  EXPECT_FALSE(ParseRtspUrl(std::string(kMaxRtspUrlBytes, 'a') + "b", "").ok());
}

TEST(RtspRequest, EveryCodeHasAStatusOfRtsp) {
  EXPECT_EQ(RtspStatusOf(Code::kInvalidArgument), 400);
  EXPECT_EQ(RtspStatusOf(Code::kNotFound), 404);
  EXPECT_EQ(RtspStatusOf(Code::kCorrupt), 415);
  EXPECT_EQ(RtspStatusOf(Code::kUnavailable), 503);
  EXPECT_EQ(RtspStatusOf(Code::kDeadlineExceeded), 504);
  EXPECT_EQ(RtspStatusOf(Code::kInternal), 500);
}

}  // namespace
}  // namespace gopmill
