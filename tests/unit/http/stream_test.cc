// SPDX-License-Identifier: Apache-2.0
//
// Streams over a real socket: framing, errors before and after the head, clients that leave, that
// read slowly, and the end of the server.
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class StreamTest : public RunningServer {};

TEST_F(StreamTest, ArrivesInChunksWithItsFields) {
  const auto response = Fetch(port(), "/v1/transcode/small.mp4?width=640");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello world");
  EXPECT_TRUE(response->complete);
  EXPECT_TRUE(response->trailers.empty());
  EXPECT_EQ(response->Field("content-type"), "video/mp4");
  EXPECT_EQ(response->Field("transfer-encoding"), "chunked");
  EXPECT_EQ(response->Field("content-length"), "");
  EXPECT_EQ(response->Field("trailer"), "");
  EXPECT_EQ(response->Field("x-gopmill-stream"), "1");
  EXPECT_EQ(response->Field("link"), "</v1/streams/1>; rel=\"describedby\"");
  EXPECT_EQ(response->Field("server-timing"), "plan;dur=12.3");
  EXPECT_EQ(response->Field("x-gopmill-adjusted"), "");
}

TEST_F(StreamTest, TellsTheMeasuresInTrailersToThoseWhoAsk) {
  const auto response = Fetch(port(), "/v1/transcode/small.mp4", "TE: trailers\r\n");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("trailer"), "X-Gopmill-Measures");
  ASSERT_EQ(response->trailers.size(), 1U);
  EXPECT_EQ(response->trailers.begin()->first, "x-gopmill-measures");
  EXPECT_EQ(response->trailers.begin()->second, "bytes=11, frames=3, jitter-ms=0.25");
}

TEST_F(StreamTest, NamesWhatWasAdjusted) {
  const auto response = Fetch(port(), "/v1/transcode/adjusted.mp4");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("x-gopmill-adjusted"),
            "width;asked=\"641\";given=\"640\";reason=\"4:2:0 video needs \\\"even\\\" sizes\"");
}

TEST_F(StreamTest, Http10GetsPlainBytes) {
  RawClient client(port());
  client.Send("GET /v1/transcode/small.mp4 HTTP/1.0\r\nTE: trailers\r\n\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("transfer-encoding"), "");
  EXPECT_EQ(response->body, "hello world");
  EXPECT_TRUE(response->complete);
}

TEST_F(StreamTest, HeadAsksWithoutTranscoding) {
  const auto response = Fetch(port(), "/v1/transcode/small.mp4", {}, "HEAD");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->Field("content-type"), "video/mp4");
  EXPECT_EQ(response->Field("content-length"), "");
  EXPECT_EQ(Fetch(port(), "/v1/transcode/error/not-found", {}, "HEAD")->status, 404);
  EXPECT_EQ(server->stats().streams, 0);
}

int ExpectedStatus(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return 400;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists: return 409;
    case Code::kUnsupported:
    case Code::kCorrupt: return 422;
    case Code::kResourceExhausted:
    case Code::kUnavailable:
    case Code::kCancelled: return 503;
    case Code::kDeadlineExceeded: return 504;
    case Code::kIo:
    case Code::kInternal: return 500;
  }
  return 0;
}

TEST_F(StreamTest, EachCodeBeforeTheFirstByteIsAProblem) {
  RawClient client(port());  // one connection: a problem does not end it
  for (const Code code : AllCodes()) {
    const std::string name(CodeName(code));
    ASSERT_TRUE(client.Get("/v1/transcode/error/" + name));
    const auto response = client.Receive();
    ASSERT_TRUE(response);
    const nlohmann::json body = ParseJson(*response);
    EXPECT_EQ(response->status, ExpectedStatus(code)) << name;
    EXPECT_EQ(response->Field("content-type"), "application/problem+json");
    EXPECT_EQ(response->Field("retry-after"), response->status >= 503 ? "5" : "") << name;
    EXPECT_EQ(body["type"], "urn:gopmill:problem:" + name);
    EXPECT_EQ(body["status"], response->status);
    EXPECT_FALSE(body["title"].get<std::string>().empty());
    EXPECT_EQ(body["detail"], "It failed.");
    EXPECT_EQ(body["parameter"], "width");
    EXPECT_EQ(body["accepted"], "2 to 4");
  }
}

TEST_F(StreamTest, RefusedParametersAreAProblemAtOnce) {
  const auto response = Fetch(port(), "/v1/transcode/small.mp4?bogus=1");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(ParseJson(*response)["parameter"], "bogus");
  EXPECT_EQ(server->stats().streams, 0);
}

TEST_F(StreamTest, ASinkThatIsForgottenIsAnInternalError) {
  EXPECT_EQ(Fetch(port(), "/v1/transcode/dropped.mp4")->status, 500);
}

TEST_F(StreamTest, AFailureAfterTheHeadLeavesTheBodyIncomplete) {
  const auto response = Fetch(port(), "/v1/transcode/broken.mp4");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_FALSE(response->complete);
  EXPECT_EQ(response->body, "hello ");
}

TEST_F(StreamTest, AFailureAfterTheHeadResetsHttp10) {
  RawClient client(port());
  client.Send("GET /v1/transcode/broken.mp4 HTTP/1.0\r\n\r\n");
  const auto response = client.Receive();
  EXPECT_TRUE(!response || !response->complete);
}

TEST_F(StreamTest, DeleteStopsAStream) {
  RawClient client(port());
  client.Get("/v1/transcode/held.mp4");
  const auto head = client.ReceiveHead();
  ASSERT_TRUE(head);
  const std::string url = "/v1/streams/" + head->Field("x-gopmill-stream");
  EXPECT_EQ(Fetch(port(), url)->status, 200);
  EXPECT_EQ(Fetch(port(), url, {}, "DELETE")->status, 204);
  EXPECT_TRUE(service.AwaitEnded(1));
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_EQ(Fetch(port(), url, {}, "DELETE")->status, 404);
  EXPECT_EQ(Fetch(port(), "/v1/streams/x", {}, "DELETE")->status, 404);
}

TEST_F(StreamTest, SeamsAndTracesAreThereForStreamsThatAre) {
  RawClient client(port());
  client.Get("/v1/transcode/held.mp4");
  const auto head = client.ReceiveHead();
  ASSERT_TRUE(head);
  for (const std::string report : {"/seams", "/trace"}) {
    SCOPED_TRACE(report);
    const std::string url = "/v1/streams/" + head->Field("x-gopmill-stream") + report;
    const auto answer = Fetch(port(), url);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->Field("content-type"), "application/json");
    EXPECT_EQ(Fetch(port(), url, {}, "OPTIONS")->Field("allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(Fetch(port(), url + "?last=3")->status, 400);
    EXPECT_EQ(Fetch(port(), url, {}, "DELETE")->status, 405);
    EXPECT_EQ(Fetch(port(), "/v1/streams/7777" + report)->status, 404);
    for (const char* garbage : {"-1", "x", "1x", "0x1", "99999999999999999999999"}) {
      EXPECT_EQ(Fetch(port(), std::string("/v1/streams/") + garbage + report)->status, 404);
    }
    EXPECT_EQ(Fetch(port(), "/v1/streams/1" + report + "/2")->status, 404);
  }
}

TEST_F(StreamTest, TheWorkersCanBeWatched) {
  const auto answer = Fetch(port(), "/v1/workers");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->Field("content-type"), "application/json");
  EXPECT_EQ(answer->Field("cache-control"), "no-store");
  EXPECT_EQ(answer->body, R"({"workers":[]})");
  EXPECT_EQ(Fetch(port(), "/v1/workers", {}, "DELETE")->status, 405);
  EXPECT_EQ(Fetch(port(), "/v1/workers/0")->status, 404);
}

// How a client may leave; each must be noticed at once.
class LeaveTest : public StreamTest, public testing::WithParamInterface<const char*> {
 protected:
  static void LeaveBy(const std::string& way, RawClient& client) {
    if (way == "close") client.Leave();
    if (way == "reset") client.Reset();
    if (way == "half") client.HalfClose();
  }
};

TEST_P(LeaveTest, CancelsTheStreamAndFreesItsWriter) {
  RawClient client(port());
  client.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(client.Skip(1'000'000));
  const TimePoint left = SteadyNow();
  LeaveBy(GetParam(), client);
  ASSERT_TRUE(service.AwaitCancels(1));
  ASSERT_TRUE(service.AwaitEnded(1));
  EXPECT_LT(ToMillis(SteadyNow() - left), 2000);  // wide: shared machines; milliseconds in fact
  EXPECT_EQ(service.last_write_code, static_cast<int>(Code::kCancelled));
  EXPECT_TRUE(AwaitStats([](const HttpStats& s) { return s.streams == 0 && s.connections == 0; }));
}

TEST_P(LeaveTest, CancelsAStreamThatHasNotBegun) {
  RawClient client(port());
  client.Get("/v1/transcode/silent.mp4");
  ASSERT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.streams == 1; }));
  LeaveBy(GetParam(), client);
  EXPECT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(service.AwaitEnded(1));
}

TEST_P(LeaveTest, FreesAWriterThatIsBlocked) {
  RawClient client(port(), 4096);
  client.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(client.ReceiveHead());
  service.AwaitBlocked(milliseconds(50));
  LeaveBy(GetParam(), client);
  EXPECT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(service.AwaitEnded(1));
}

INSTANTIATE_TEST_SUITE_P(Ways, LeaveTest, testing::Values("close", "reset", "half"));

TEST_F(StreamTest, ASlowReaderIsBoundedAndHindersNobody) {
  RawClient slow(port(), 4096);
  slow.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(slow.ReceiveHead());
  // On a busy machine the writer may have no core for longer than it takes to call it blocked.
  ASSERT_TRUE(AwaitStats([](const HttpStats& s) { return s.peak_stream_buffer_bytes > 500'000; }));
  service.AwaitBlocked(milliseconds(100));
  const std::int64_t taken = service.bytes_written;
  // The rest is in the kernel: its send buffer and the client's receive buffer.
  EXPECT_LT(taken, 16'000'000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Fetch(port(), "/v1/transcode/small.mp4")->body, "hello world");
  }
  EXPECT_LE(server->stats().peak_stream_buffer_bytes,
            static_cast<std::int64_t>(options.limits.stream_buffer_bytes));
  ASSERT_TRUE(slow.Skip(static_cast<std::size_t>(taken)));  // reading lets it go on
  while (service.bytes_written <= taken) std::this_thread::yield();
}

TEST_F(StreamTest, ManyStreamsAtOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> good = 0;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back([this, &good] {
      RawClient client(port());
      client.Get("/v1/transcode/endless.mp4");
      if (client.Skip(5'000'000)) ++good;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 20);
  EXPECT_TRUE(service.AwaitEnded(20));
}

class DrainTest : public RunningServer {};

TEST_F(DrainTest, LetsRunningStreamsFinishAndRefusesNewOnes) {
  RawClient running(port());
  running.Get("/v1/transcode/held.mp4");
  ASSERT_TRUE(running.ReceiveHead());
  std::size_t cut = 99;
  std::thread drain([this, &cut] { cut = server->Drain(seconds(30)); });
  while (Fetch(port(), "/readyz")->status == 200) std::this_thread::yield();
  const auto refused = Fetch(port(), "/v1/transcode/small.mp4");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->Field("retry-after"), "5");
  EXPECT_EQ(refused->Field("connection"), "close");
  EXPECT_EQ(Fetch(port(), "/healthz")->status, 200);
  service.Release();
  drain.join();
  EXPECT_EQ(cut, 0U);
}

TEST_F(DrainTest, CutsWhatIsLeftAtTheLimit) {
  RawClient running(port());
  running.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(running.ReceiveHead());
  EXPECT_EQ(server->Drain(milliseconds(20)), 1U);
  EXPECT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(running.AwaitClosed());
}

TEST_F(DrainTest, StopEndsEverything) {
  RawClient running(port());
  running.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(running.ReceiveHead());
  RawClient idle(port());
  server->Stop();
  EXPECT_TRUE(service.AwaitEnded(1));
  EXPECT_TRUE(running.AwaitClosed());
  EXPECT_TRUE(idle.AwaitClosed());
  server->Stop();
}

TEST_F(StreamTest, IsNotReadyWithoutALibrary) {
  service.library_readable = false;
  const auto response = Fetch(port(), "/readyz");
  EXPECT_EQ(response->status, 503);
  EXPECT_NE(response->body.find("library"), std::string::npos);
  EXPECT_EQ(Fetch(port(), "/healthz")->status, 200);
  service.library_readable = true;
  EXPECT_EQ(Fetch(port(), "/readyz")->status, 200);
}

TEST_F(StreamTest, IsNotReadyBeforeTheService) {
  service.ready = false;
  EXPECT_EQ(Fetch(port(), "/readyz")->status, 503);
  EXPECT_EQ(Fetch(port(), "/v1/transcode/small.mp4")->status, 503);
  service.ready = true;
  EXPECT_EQ(Fetch(port(), "/readyz")->status, 200);
}

class StallTest : public ServerFixture {};

TEST_F(StallTest, AClientThatReadsNothingIsCut) {
  options.limits.write_stall_timeout = milliseconds(200);
  Start();
  RawClient client(port(), 4096);
  client.Get("/v1/transcode/endless.mp4");
  ASSERT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(service.AwaitEnded(1));
}

TEST_F(StallTest, AServiceThatDoesNotAnswerIsGivenUp) {
  options.limits.service_timeout = milliseconds(50);
  service.answer_sources = false;
  Start();
  RawClient client(port());
  client.Get("/v1/sources");
  const auto given_up = client.Receive();
  EXPECT_EQ(given_up->status, 504);
  EXPECT_EQ(given_up->Field("retry-after"), "5");
  client.Get("/healthz");
  EXPECT_EQ(client.Receive()->status, 200);
}

}  // namespace
}  // namespace gopmill
