// SPDX-License-Identifier: Apache-2.0
//
// Answers whose clients take them slowly or not at all: what they keep in memory, and for how long.
#include "server/http/waiting_answers.h"

#include <unistd.h>

#include <vector>

#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
constexpr std::size_t kBig = FakeService::kBigPartBytes;
constexpr int kSmallWindow = 4096;

SharedBody BodyOf(const std::shared_ptr<const std::string>& bytes) {
  return {.owner = bytes, .bytes = *bytes, .kept_bytes = bytes->size()};
}

TEST(WaitingAnswersTest, CountsBytesThatAreSharedOnce) {
  const auto answers = std::make_shared<WaitingAnswers>(100);
  const SharedBody first = BodyOf(std::make_shared<const std::string>(60, 'a'));
  const SharedBody second = BodyOf(std::make_shared<const std::string>(50, 'b'));
  const SharedBody forever{.owner = nullptr, .bytes = "page"};
  auto one = std::make_unique<WaitingAnswers::Held>(answers, first);
  auto other = std::make_unique<WaitingAnswers::Held>(answers, first);
  EXPECT_EQ(answers->bytes(), 60U);
  EXPECT_TRUE(answers->HasRoom(first)) << "it takes no more";
  EXPECT_FALSE(answers->HasRoom(second));
  EXPECT_TRUE(answers->HasRoom(forever));
  one.reset();
  EXPECT_EQ(answers->bytes(), 60U);
  other.reset();
  EXPECT_EQ(answers->bytes(), 0U);
  EXPECT_TRUE(answers->HasRoom(BodyOf(std::make_shared<const std::string>(500, 'c'))))
      << "one that is too large has room alone";
}

class WaitingAnswersServer : public ServerFixture {
 protected:
  // Clients that ask for a part of different movies and take only its head.
  void Ask(int count) {
    for (int i = 0; i < count; ++i) {
      const int number = static_cast<int>(clients.size());
      clients.emplace_back(port(), kSmallWindow);
      clients.back().Get("/v1/hls/big/" + std::to_string(number) + ".mp4/v0-1.m4s");
      const auto head = clients.back().ReceiveHead();
      ASSERT_TRUE(head);
      EXPECT_EQ(head->status, 200) << number;
    }
  }
  template <class Condition>
  bool Await(Condition condition) {
    return AwaitStats([&](const HttpStats&) { return condition(); });
  }
  std::vector<RawClient> clients;
};

TEST_F(WaitingAnswersServer, AllAnswersShareTheBytesOfAPart) {
  Start();
  const auto bytes = service.BigPart("big/0.mp4");
  const long before = bytes.use_count();
  constexpr int kClients = 10;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(port(), kSmallWindow);
    const char* range = i % 2 == 0 ? "" : "Range: bytes=10-\r\n";
    clients.back().Get("/v1/hls/big/0.mp4/v0-1.m4s", range);
    EXPECT_EQ(clients.back().ReceiveHead()->status, i % 2 == 0 ? 200 : 206);
  }
  EXPECT_TRUE(Await([&] { return bytes.use_count() == before + kClients; }));
  for (RawClient& client : clients) client.Reset();
  EXPECT_TRUE(Await([&] { return bytes.use_count() == before; })) << "they are let go of";
}

TEST_F(WaitingAnswersServer, WhatIsTakenComesWhole) {
  Start();
  const auto whole = Fetch(port(), "/v1/hls/big/0.mp4/v0-1.m4s");
  ASSERT_TRUE(whole && whole->complete);
  EXPECT_EQ(whole->body, *service.BigPart("big/0.mp4"));
  const auto part = Fetch(port(), "/v1/hls/big/0.mp4/v0-1.m4s", "Range: bytes=1000-500000\r\n");
  ASSERT_TRUE(part && part->complete);
  EXPECT_EQ(part->body.size(), 499'001U);
  const auto head = Fetch(port(), "/v1/hls/big/0.mp4/v0-1.m4s", {}, "HEAD");
  EXPECT_EQ(head->Field("content-length"), std::to_string(kBig));
}

TEST_F(WaitingAnswersServer, OverTheLimitThereIsRoomForSmallAnswersOnly) {
  options.limits.answer_bytes = 3 * kBig + kBig / 2;
  Start();
  Ask(3);
  const auto refused = Fetch(port(), "/v1/hls/big/new.mp4/v0-1.m4s");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_FALSE(refused->Field("retry-after").empty());
  EXPECT_EQ(Fetch(port(), "/v1/hls/big/0.mp4/v0-1.m4s")->status, 200) << "it is in memory anyway";
  EXPECT_EQ(Fetch(port(), "/healthz")->status, 200);
  clients.front().Reset();
  EXPECT_TRUE(Await([&] { return Fetch(port(), "/v1/hls/big/new.mp4/v0-1.m4s")->status == 200; }));
}

TEST_F(WaitingAnswersServer, TheSlowestMakesRoom) {
  options.limits.answer_bytes = 3 * kBig + kBig / 2;
  options.limits.answer_patience = milliseconds(0);
  Start();
  Ask(3);
  EXPECT_EQ(Fetch(port(), "/v1/hls/big/new.mp4/v0-1.m4s")->status, 200);
  EXPECT_TRUE(clients.front().AwaitClosed());
  EXPECT_TRUE(clients.back().Skip(kBig)) << "the others go on";
}

TEST_F(WaitingAnswersServer, ALittleNowAndThenIsNotEnough) {
  options.limits.write_stall_timeout = std::chrono::seconds(1);
  options.limits.answer_bytes_per_second = 100 * kMiB;
  Start();
  RawClient client(port(), 64 * kKiB);  // with a smaller window nothing goes for a second
  client.Get("/v1/hls/big/0.mp4/v0-1.m4s");
  ASSERT_TRUE(client.ReceiveHead());
  constexpr std::size_t kPiece = 4000;
  std::size_t taken = 0;
  // Never nothing for a second, but all of it would take five. The pace is the attack, not a wait.
  while (taken + kPiece < kBig && client.Skip(kPiece)) {
    taken += kPiece;
    usleep(20'000);
  }
  EXPECT_LT(taken + kPiece, kBig);
}

// The answer still waits when the stream begins, and the client is so slow that there is always
// something to send: the time that an answer may take shall not end what comes behind it.
TEST_F(WaitingAnswersServer, AStreamBehindAnAnswerHasItsOwnPace) {
  options.limits.write_stall_timeout = std::chrono::seconds(1);
  options.limits.answer_bytes_per_second = 100 * kMiB;
  Start();
  RawClient client(port(), 16 * kKiB);
  client.Send(
      "GET /v1/hls/big/0.mp4/v0-1.m4s HTTP/1.1\r\nHost: h\r\nRange: bytes=0-249999\r\n\r\n"
      "GET /v1/transcode/endless.mp4 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(AwaitStats([](const HttpStats& s) { return s.peak_stream_buffer_bytes > 500'000; }));
  const TimePoint begin = SteadyNow();
  const auto answer = client.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 206);
  ASSERT_TRUE(client.ReceiveHead());
  while (SteadyNow() - begin < milliseconds(1800)) {  // longer than any answer may take
    ASSERT_TRUE(client.Skip(20'000)) << ToMillis(SteadyNow() - begin);
    usleep(10'000);
  }
  EXPECT_EQ(server->stats().streams, 1);
}

}  // namespace
}  // namespace gopmill
