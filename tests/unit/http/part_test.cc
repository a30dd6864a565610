// SPDX-License-Identifier: Apache-2.0
//
// Parts of segmented movies over HTTP: fields, ranges, conditions, clients that leave.
#include "server/http/byte_range.h"
#include "server/http/handlers.h"
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using testing::ElementsAre;

using PartTest = RunningServer;

TEST_F(PartTest, HasWhatCachesNeed) {
  const auto segment = Fetch(port(), "/v1/hls/dir/small.mp4/v0-3.m4s");
  ASSERT_TRUE(segment && segment->complete);
  EXPECT_EQ(segment->status, 200);
  EXPECT_EQ(segment->body, "0123456789");
  EXPECT_EQ(segment->Field("content-type"), "video/mp4");
  EXPECT_EQ(segment->Field("content-length"), "10");
  EXPECT_EQ(segment->Field("etag"), "\"digits\"");
  EXPECT_EQ(segment->Field("cache-control"), "public, max-age=60");
  EXPECT_EQ(segment->Field("accept-ranges"), "bytes");
  EXPECT_EQ(segment->Field("access-control-allow-origin"), "*");
  const auto playlist = Fetch(port(), "/v1/hls/small.mp4/master.m3u8");
  ASSERT_TRUE(playlist);
  EXPECT_EQ(playlist->Field("cache-control"), "no-cache");
  EXPECT_EQ(playlist->Field("content-type"), "application/vnd.apple.mpegurl");
}

using GuardedPartTest = ServerFixture;

TEST_F(GuardedPartTest, SharedCachesKeepNothingThatNeedsAUser) {
  options.users = Users::Parse("bob:word:read").value();
  Start();
  const std::string bob = "Authorization: Bearer word\r\n";
  for (const char* field : {"", "If-None-Match: \"digits\"\r\n"}) {
    const auto segment = Fetch(port(), "/v1/hls/small.mp4/v0-3.m4s", bob + field);
    ASSERT_TRUE(segment);
    EXPECT_EQ(segment->Field("cache-control"), "private, max-age=60");
  }
  const auto playlist = Fetch(port(), "/v1/hls/small.mp4/master.m3u8", bob);
  ASSERT_TRUE(playlist);
  EXPECT_EQ(playlist->Field("cache-control"), "no-cache");
}

TEST_F(PartTest, DashHasTheSameParts) {
  const auto segment = Fetch(port(), "/v1/dash/small.mp4/v0-3.m4s");
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->body, "0123456789");
}

TEST_F(PartTest, WhatPlayersTellACdnIsNoParameter) {
  const HttpMetrics metrics;
  const Users users;
  const std::vector<std::string> host_names;
  const HandlerContext context{service, metrics, users, host_names};
  HttpRequest request;
  request.method = "GET";
  for (const char* route : {"/v1/hls", "/v1/dash"}) {
    request.target =
        std::string(route) + "/a.mp4/v0-3.m4s?width=640&CMCD=bl%3D2100%2Csid%3D%22x%22&segment=2";
    const HandledRequest handled = Handle(request, context);
    const auto* reply = std::get_if<PartReply>(&handled.reply);
    ASSERT_NE(reply, nullptr) << route;
    EXPECT_THAT(reply->part.params,
                ElementsAre(testing::Pair("width", "640"), testing::Pair("segment", "2")));
  }
}

TEST_F(PartTest, NeedsAPart) {
  const auto response = Fetch(port(), "/v1/hls/small.mp4");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(ParseJson(*response)["accepted"], "{movie}/master.m3u8");
}

TEST_F(PartTest, AnswersConditions) {
  const auto same = Fetch(port(), "/v1/hls/small.mp4/v0-3.m4s", "If-None-Match: \"digits\"\r\n");
  ASSERT_TRUE(same);
  EXPECT_EQ(same->status, 304);
  EXPECT_EQ(same->body, "");
  EXPECT_EQ(same->Field("vary"), "");
  const std::string tag = "If-None-Match: \"digits\"\r\n";
  for (const std::string& fields : {std::string(), tag}) {
    const auto playlist = Fetch(port(), "/v1/hls/small.mp4/master.m3u8", fields);
    ASSERT_TRUE(playlist);
    EXPECT_EQ(playlist->status, fields.empty() ? 200 : 304);
    EXPECT_EQ(playlist->Field("vary"), "Accept-Encoding");
  }
  const auto other = Fetch(port(), "/v1/hls/small.mp4/v0-3.m4s", "If-None-Match: \"x\"\r\n");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 200);
}

TEST_F(PartTest, AnswersRanges) {
  const auto part = [&](const std::string& fields) {
    return *Fetch(port(), "/v1/hls/small.mp4/v0-3.m4s", fields);
  };
  EXPECT_EQ(part("Range: bytes=2-4\r\n").body, "234");
  EXPECT_EQ(part("Range: bytes=2-4\r\n").status, 206);
  EXPECT_EQ(part("Range: bytes=2-4\r\n").Field("content-range"), "bytes 2-4/10");
  EXPECT_EQ(part("Range: bytes=7-\r\n").body, "789");
  EXPECT_EQ(part("Range: bytes=-3\r\n").body, "789");
  EXPECT_EQ(part("Range: bytes=5-500\r\n").body, "56789");
  EXPECT_EQ(part("Range: bytes=10-\r\n").status, 416);
  EXPECT_EQ(part("Range: bytes=10-\r\n").Field("content-range"), "bytes */10");
  EXPECT_EQ(part("Range: bytes=2-4\r\nIf-Range: \"digits\"\r\n").body, "234");
  EXPECT_EQ(part("Range: bytes=2-4\r\nIf-Range: \"old\"\r\n").body, "0123456789");
}

TEST(ByteRangeTest, IgnoresWhatItDoesNotKnow) {
  ByteRange range;
  for (const char* field : {"", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=1-2,4-5",
                            "lines=1-2", "bytes=a-b", "bytes=1-2x", "bytes= 1-2", "bytes=--1"}) {
    EXPECT_EQ(ParseRange(field, 10, range), RangeKind::kNone) << field;
  }
  EXPECT_EQ(ParseRange("bytes=0-99999999999999999999999", 10, range), RangeKind::kOne);
  EXPECT_EQ(range.last, 9U);
  EXPECT_EQ(ParseRange("bytes=99999999999999999999999-", 10, range), RangeKind::kUnsatisfiable);
  EXPECT_EQ(ParseRange("bytes=-0", 10, range), RangeKind::kUnsatisfiable);
  EXPECT_EQ(ParseRange("bytes=0-0", 0, range), RangeKind::kUnsatisfiable);
}

TEST_F(PartTest, HeadHasTheLengthAndNoBody) {
  RawClient client(port());
  client.Get("/v1/hls/small.mp4/v0-3.m4s", {}, "HEAD");
  const auto response = client.Receive(RawClient::Body::kNone);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("content-length"), "10");
  client.Get("/healthz");
  const auto next = client.Receive();
  ASSERT_TRUE(next) << "something is between the answers";
  EXPECT_EQ(next->status, 200);
}

TEST_F(PartTest, ErrorsAreProblems) {
  const auto response = Fetch(port(), "/v1/hls/error/not-found/master.m3u8");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->Field("content-type"), "application/problem+json");
}

TEST_F(PartTest, AClientThatLeavesGivesItsPartUp) {
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/hls/held.mp4/v0-3.m4s"));
  client.Leave();
  EXPECT_TRUE(service.AwaitLeft(1));
}

TEST_F(PartTest, AClientThatLeavesGivesItsPlanUp) {
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/explain/held.mp4"));
  client.Leave();
  EXPECT_TRUE(service.AwaitLeft(1));
  RawClient half(port());
  ASSERT_TRUE(half.Get("/v1/explain?path=held.mp4"));
  half.HalfClose();
  EXPECT_TRUE(service.AwaitLeft(2));
}

// Behind what it has sent nothing is read, so that its end would not be seen.
TEST_F(PartTest, AClientThatSendsTooFarAheadGivesItsPartUp) {
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/hls/held.mp4/v0-3.m4s"));
  client.Send(std::string(100 * kKiB, 'x'));
  client.HalfClose();
  EXPECT_TRUE(service.AwaitLeft(1));
  EXPECT_TRUE(client.AwaitClosed());
}

using PartLimitTest = ServerFixture;

TEST_F(PartLimitTest, APlanThatIsNotMadeIsGivenUp) {
  options.limits.service_timeout = std::chrono::milliseconds(50);
  Start();
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/explain/held.mp4"));
  const auto given_up = client.Receive();
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->status, 504);
  EXPECT_TRUE(service.AwaitLeft(1));
  ASSERT_TRUE(client.Get("/v1/explain/other.mp4"));
  const auto next = client.Receive();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->status, 200);
}

TEST_F(PartLimitTest, APartThatIsNotMadeIsGivenUp) {
  options.limits.part_timeout = std::chrono::milliseconds(50);
  Start();
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/hls/held.mp4/v0-3.m4s"));
  const auto given_up = client.Receive();
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->status, 504);
  EXPECT_EQ(given_up->Field("retry-after"), "5");
  EXPECT_TRUE(service.AwaitLeft(1));
  ASSERT_TRUE(client.Get("/healthz"));
  EXPECT_EQ(client.Receive()->status, 200);
}

// The first of a large movie waits until that has been read.
TEST_F(PartLimitTest, APartMayTakeLongerThanOtherAnswers) {
  options.limits.service_timeout = std::chrono::milliseconds(50);
  service.answer_sources = false;
  Start();
  RawClient player(port());
  ASSERT_TRUE(player.Get("/v1/hls/held.mp4/master.m3u8"));
  ASSERT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.streams == 1; }));
  EXPECT_EQ(Fetch(port(), "/v1/sources")->status, 504);  // asked for later
  EXPECT_EQ(server->stats().streams, 1) << "the part was given up";
  player.Leave();
  EXPECT_TRUE(service.AwaitLeft(1));
}

TEST_F(PartTest, AnAnsweredPartIsNotGivenUp) {
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/hls/small.mp4/v0-3.m4s"));
  ASSERT_TRUE(client.Receive());
  ASSERT_TRUE(client.Get("/v1/hls/held.mp4/v0-3.m4s"));
  client.Leave();
  EXPECT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.connections == 0; }));
  EXPECT_THAT(service.parts_left(), ElementsAre(PartTicket{2})) << "the second alone";
}

TEST_F(PartTest, ADrainWaitsForPartsAndThenCutsThem) {
  RawClient client(port());
  ASSERT_TRUE(client.Get("/v1/hls/small.mp4/v0-3.m4s"));
  ASSERT_TRUE(client.Receive());
  EXPECT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.streams == 0; }));
  ASSERT_TRUE(client.Get("/v1/hls/held.mp4/v0-3.m4s"));
  EXPECT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.streams == 1; }));
  EXPECT_EQ(server->Drain(std::chrono::milliseconds(1)), 1U);
  EXPECT_TRUE(service.AwaitLeft(1));
}

}  // namespace
}  // namespace gopmill
