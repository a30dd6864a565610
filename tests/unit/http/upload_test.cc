// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are transcoded while they arrive: the way there and back at once, backpressure to the
// client, and every way in which an upload can go wrong.
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kChunkedHead =
    "PUT /v1/transcode?width=640 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n";

std::string Chunk(std::string_view bytes) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return std::string(size.data()) + std::string(bytes) + "\r\n";
}

class UploadTest : public RunningServer {
 protected:
  // Waits until the readers of the service have this many bytes; false after ten seconds.
  bool AwaitUploaded(std::int64_t bytes) {
    const TimePoint deadline = SteadyNow() + seconds(10);
    while (service.uploaded < bytes && SteadyNow() < deadline) std::this_thread::yield();
    return service.uploaded >= bytes;
  }
};

TEST_F(UploadTest, IsAnsweredWhileItArrives) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n" + Chunk("first "));
  // The answer begins before the body has ended.
  const auto head = client.ReceiveHead();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_TRUE(client.Skip(6));
  client.Send(Chunk("second") + "0\r\n\r\n");
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_EQ(service.uploaded, 12);
}

TEST_F(UploadTest, TakesALengthAsWellAndEitherMethod) {
  for (const std::string method : {"PUT", "POST"}) {
    RawClient client(port());
    client.Send(method + " /v1/transcode HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello ");
    client.Send("world");
    const auto response = client.Receive();
    ASSERT_TRUE(response) << method;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "hello world");
    EXPECT_TRUE(response->complete);
    EXPECT_EQ(response->Field("connection"), "close");
  }
}

TEST_F(UploadTest, IsLongerThanAnyBuffer) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n");
  const std::string piece(100'000, 'x');
  constexpr int kPieces = 50;
  std::thread sender([&] {
    for (int i = 0; i < kPieces; ++i) client.Send(Chunk(piece));
    client.Send("0\r\n\r\n");
  });
  const auto response = client.Receive();
  sender.join();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body.size(), kPieces * piece.size());
  EXPECT_TRUE(response->complete);
}

TEST_F(UploadTest, IsNotReadFasterThanItIsUsed) {
  RawClient client(port());
  constexpr std::int64_t kBytes = 40'000'000;
  client.Send("PUT /v1/transcode?reading=late HTTP/1.1\r\nHost: h\r\nContent-Length: " +
              std::to_string(kBytes) + "\r\n\r\n");
  std::atomic<std::int64_t> sent = 0;
  std::thread sender([&] {
    const std::string piece(100'000, 'x');
    while (sent < kBytes && client.Send(piece)) sent += 100'000;
  });
  // Socket buffers, the parser's input and the pipe fill up, then sending blocks.
  std::int64_t before = -1;
  while (std::exchange(before, sent.load()) != sent) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(sent, kBytes);
  EXPECT_EQ(service.uploaded, 0);
  EXPECT_LT(server->stats().received_bytes, 300'000U);
  service.Release();
  const auto response = client.Receive();
  sender.join();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body.size(), kBytes);
}

TEST_F(UploadTest, AClientThatLeavesWhileItIsNotReadIsNoticed) {
  RawClient client(port());
  client.Send(
      "PUT /v1/transcode?reading=late HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n");
  client.Send(std::string(500'000, 'x'));
  ASSERT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.received_bytes > 66'000; }));
  client.Reset();
  EXPECT_TRUE(service.AwaitCancels(1));
}

TEST_F(UploadTest, AReaderThatHasEnoughIsNoError) {
  RawClient client(port());
  client.Send(
      "PUT /v1/transcode?limit=5 HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\nhello");
  const auto head = client.ReceiveHead();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  client.Send(std::string(199'995, 'x'));
  EXPECT_TRUE(client.AwaitClosed());
}

// A reset would take from it what the kernel still has of the answer (RFC 9112 section 9.6).
TEST_F(UploadTest, WhoSendsOnHasTheWholeAnswer) {
  options.limits.linger_timeout = seconds(60);
  Start();
  constexpr std::size_t kAnswer = 16'000;  // which the kernel takes at once
  RawClient client(port(), 4096);
  client.Send("PUT /v1/transcode?limit=" + std::to_string(kAnswer) +
              " HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(client.Send(std::string(1 << 20, 'x'))) << i << " MiB";
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body.size(), kAnswer);
  EXPECT_TRUE(response->complete);
}

TEST_F(UploadTest, IsToldToContinueOnceAccepted) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "Expect: 100-continue\r\n\r\n");
  const auto go = client.ReceiveHead();
  ASSERT_TRUE(go);
  EXPECT_EQ(go->status, 100);
  client.Send(Chunk("x") + "0\r\n\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "x");
}

TEST_F(UploadTest, IsNotToldToContinueByHttp10) {
  RawClient client(port());
  client.Send(
      "PUT /v1/transcode HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
  const auto head = client.ReceiveHead();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
}

TEST_F(UploadTest, IsRefusedBeforeTheBodyIsSent) {
  RawClient client(port());
  client.Send(
      "PUT /v1/transcode?bogus=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n"
      "Expect: 100-continue\r\n\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(ParseJson(*response)["parameter"], "bogus");
  EXPECT_EQ(response->Field("connection"), "close");
}

TEST_F(UploadTest, WithoutABodyIsRefused) {
  const auto response = Fetch(port(), "/v1/transcode", {}, "POST");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(ParseJson(*response)["parameter"], "body");
}

TEST_F(UploadTest, AnEmptyBodyIsTheReadersError) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n0\r\n\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 422);
}

TEST_F(UploadTest, BrokenFramingCancelsTheStream) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\nnot-a-size\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_TRUE(service.AwaitCancels(1));
}

TEST_F(UploadTest, BrokenFramingAfterTheHeadCutsTheAnswer) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n" + Chunk("hello"));
  ASSERT_TRUE(client.ReceiveHead());
  client.Send("zzz\r\n");
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_TRUE(service.AwaitCancels(1));
}

TEST_F(UploadTest, AClientThatLeavesInTheMiddleEndsTheStream) {
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n" + Chunk("hello"));
  ASSERT_TRUE(AwaitUploaded(5));
  client.Reset();
  EXPECT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(service.AwaitEnded(1));
}

TEST_F(UploadTest, APublisherIsAnsweredAtItsEnd) {
  RawClient client(port());
  client.Send("PUT /v1/live/cam HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.Send(Chunk("hello"));
  ASSERT_TRUE(AwaitUploaded(5));
  client.Send("0\r\n\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(ParseJson(*response)["name"], "cam");
}

TEST_F(UploadTest, APublisherIsKnownByItsAddress) {
  RawClient client(port());
  client.Send("PUT /v1/live/cam HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
  ASSERT_TRUE(client.Receive());
  EXPECT_THAT(service.publisher(), testing::StartsWith("HTTP, 127.0.0.1:"));
}

TEST_F(UploadTest, ARefusedPublisherHearsOfItBeforeItSends) {
  for (const auto& [name, status] : {std::pair{"taken", 409}, std::pair{"garbage", 422}}) {
    RawClient client(port());
    client.Send(std::string("PUT /v1/live/") + name +
                " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    const auto response = client.Receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, status);
  }
}

class StalledUploadTest : public ServerFixture {
 protected:
  // Fills everything on the way to a reader that does not read yet, and goes: what tells of that is
  // behind the bytes.
  void UploadAndLeave() {
    RawClient client(port());
    client.Send(
        "PUT /v1/transcode?reading=late HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n");
    client.SendWhatGoes(std::string(50'000'000, 'x'));
    client.Leave();
  }
};

TEST_F(StalledUploadTest, AClientThatHasLeftBehindWhatIsNotReadIsCutInTheEnd) {
  options.limits.upload_pause_timeout = milliseconds(300);
  Start();
  UploadAndLeave();
  EXPECT_TRUE(service.AwaitCancels(1));
  EXPECT_TRUE(service.AwaitEnded(1));
}

TEST_F(StalledUploadTest, TheDrainDoesNotWaitForOneThatHasLeft) {
  options.limits.drain_pause_timeout = milliseconds(300);
  Start();
  UploadAndLeave();
  const TimePoint begin = SteadyNow();
  EXPECT_EQ(server->Drain(std::chrono::seconds(9)), 0U) << "nothing was left to cut";
  EXPECT_LT(ToSeconds(SteadyNow() - begin), 8);
  EXPECT_TRUE(service.AwaitCancels(1));
}

TEST_F(StalledUploadTest, AClientThatStopsSendingIsCut) {
  options.limits.upload_stall_timeout = milliseconds(100);
  Start();
  RawClient client(port());
  client.Send(std::string(kChunkedHead) + "\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 408);
  EXPECT_TRUE(service.AwaitCancels(1));
}

}  // namespace
}  // namespace gopmill
