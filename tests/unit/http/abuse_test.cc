// SPDX-License-Identifier: Apache-2.0
//
// Clients that are broken or hostile: each gets a clear answer or is closed, in bounded time, and
// the server goes on.
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

class AbuseTest : public ServerFixture {
 protected:
  void ExpectAlive() { EXPECT_EQ(Fetch(port(), "/healthz")->status, 200); }
};

TEST_F(AbuseTest, BadTargetsGetAProblemThatNamesTheParameter) {
  Start();
  for (const char* path :
       {"/v1/transcode/../secret", "/v1/transcode/%2e%2e/secret", "/v1/transcode/a%2f..%2fb",
        "/v1/transcode/a%00.mp4", "/v1/transcode/a%", "/v1/transcode//etc/passwd",
        "/v1/transcode/a%5cb", "/v1/transcode/%ff", "/v1/explain?path=../secret"}) {
    const auto response = Fetch(port(), path);
    ASSERT_TRUE(response) << path;
    EXPECT_EQ(response->status, 400) << path;
    EXPECT_EQ(ParseJson(*response)["parameter"], "path") << path;
    EXPECT_EQ(ParseJson(*response)["type"], "urn:gopmill:problem:invalid-argument");
  }
  const auto doubled = Fetch(port(), "/v1/transcode/small.mp4?width=1&width=2");
  EXPECT_EQ(doubled->status, 400);
  EXPECT_EQ(ParseJson(*doubled)["parameter"], "width");
  EXPECT_EQ(Fetch(port(), "/v1/explain")->status, 400);
  EXPECT_EQ(Fetch(port(), "/v1/sources?x=1")->status, 400);
}

TEST_F(AbuseTest, AnswersBeforeItCloses) {
  Start();
  struct Case {
    int status;
    std::string request;
  };
  const std::string line = "GET / HTTP/1.1\r\n";
  for (const Case& test :
       {Case{414, "GET /" + std::string(65536, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
        Case{431, line + "X: " + std::string(1'000'000, 'a')},
        Case{400, line + "Host: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
        Case{413, line + "Host: h\r\nContent-Length: 100000000\r\n\r\n" + std::string(500000, 'x')},
        Case{400, std::string(100'000, '\0')}, Case{505, "GET / HTTP/3.0\r\n\r\n"},
        Case{417, line + "Host: h\r\nExpect: x\r\n\r\n"}}) {
    RawClient client(port());
    client.Send(test.request);
    const auto response = client.Receive();
    ASSERT_TRUE(response) << test.status;
    EXPECT_EQ(response->status, test.status);
    EXPECT_EQ(response->Field("connection"), "close");
    EXPECT_EQ(ParseJson(*response)["status"], test.status);
    EXPECT_TRUE(client.AwaitClosed());
  }
  ExpectAlive();
}

// Whoever has sent nothing by then is closed without an answer: half a second, so that a client on
// a busy machine is not taken for one.
TEST_F(AbuseTest, HalfARequestEndsAtTheTimeout) {
  options.limits.header_timeout = milliseconds(500);
  Start();
  RawClient half(port());
  half.Send("GET /healthz HTTP/1.1\r\nHost:");
  const auto late = half.Receive();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 408);
  EXPECT_TRUE(half.AwaitClosed());
  RawClient half_body(port());
  half_body.Get("/healthz", "Content-Length: 10\r\n");
  half_body.Send("12345");
  const auto late_body = half_body.Receive();
  ASSERT_TRUE(late_body);
  EXPECT_EQ(late_body->status, 408);
  RawClient silent(port());
  EXPECT_TRUE(silent.AwaitClosed());
}

TEST_F(AbuseTest, SlowHeadersGainNoTime) {
  options.limits.header_timeout = milliseconds(200);
  Start();
  RawClient slow(port());
  ASSERT_TRUE(slow.Send("GET /healthz HTTP/1.1\r\n"));
  const TimePoint begin = SteadyNow();
  // One byte at a time for as long as the server takes them. The pace is the attack, not a wait.
  while (SteadyNow() - begin < std::chrono::seconds(10) && slow.Send("x")) usleep(5000);
  EXPECT_LT(ToSeconds(SteadyNow() - begin), 9);
}

TEST_F(AbuseTest, IdleConnectionsAreClosed) {
  options.limits.idle_timeout = milliseconds(50);
  Start();
  RawClient client(port());
  client.Get("/healthz");
  EXPECT_EQ(client.Receive()->status, 200);
  EXPECT_TRUE(client.AwaitClosed());
}

TEST_F(AbuseTest, IdleConnectionsAreClosedBehindALargeAnswer) {
  options.limits.idle_timeout = milliseconds(50);
  Start();
  RawClient client(port());
  client.Get("/v1/hls/big/0.mp4/v0-1.m4s");
  const auto answer = client.Receive();
  ASSERT_TRUE(answer && answer->complete);
  EXPECT_EQ(answer->body.size(), FakeService::kBigPartBytes);
  EXPECT_TRUE(client.AwaitClosed());
}

TEST_F(AbuseTest, WhoTakesAnAnswerIsNotIdle) {
  options.limits.idle_timeout = milliseconds(50);
  Start();
  constexpr int kSmallWindow = 4096;
  RawClient client(port(), kSmallWindow);
  // More than the kernel takes, less than what stops the reading of requests.
  client.Get("/v1/hls/big/0.mp4/v0-1.m4s", "Range: bytes=0-249999\r\n");
  ASSERT_TRUE(client.ReceiveHead());
  usleep(300'000);  // nothing may happen meanwhile
  EXPECT_TRUE(client.Skip(250'000)) << "cut in the middle of an answer";
  EXPECT_TRUE(client.AwaitClosed()) << "idle from now on";
}

// Both ends of each connection are in this process.
TEST_F(AbuseTest, AThousandSilentClientsHinderNobody) {
  constexpr std::size_t kSilent = 1000;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit enough{.rlim_cur = 3 * kSilent, .rlim_max = before.rlim_max};
  if (before.rlim_max < enough.rlim_cur) GTEST_SKIP() << "needs 3,000 file descriptors";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &enough), 0);
  options.limits.max_connections = kSilent + 100;
  Start();
  std::vector<RawClient> clients;
  for (std::size_t i = 0; i < kSilent; ++i) clients.emplace_back(port());
  ASSERT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.connections == kSilent; }));
  ExpectAlive();
  for (RawClient& client : clients) ASSERT_TRUE(client.Get("/healthz"));
  for (RawClient& client : clients) ASSERT_EQ(client.Receive()->status, 200);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(AbuseTest, TheLongestIdleConnectionMakesRoom) {
  options.limits.max_connections = 3;
  Start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(port());
    clients.back().Get("/healthz");
    EXPECT_EQ(clients.back().Receive()->status, 200);
  }
  RawClient fourth(port());
  fourth.Get("/healthz");
  EXPECT_EQ(fourth.Receive()->status, 200);
  EXPECT_TRUE(clients.front().AwaitClosed());
  clients.back().Get("/healthz");
  EXPECT_EQ(clients.back().Receive()->status, 200);
}

TEST_F(AbuseTest, BusyConnectionsAreNotSacrificed) {
  options.limits.max_connections = 2;
  Start();
  std::vector<RawClient> streams;
  for (int i = 0; i < 2; ++i) {
    streams.emplace_back(port());
    streams.back().Get("/v1/transcode/held.mp4");
    ASSERT_TRUE(streams.back().ReceiveHead());
  }
  RawClient third(port());
  const auto refused = third.Receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->Field("retry-after"), "5");
  EXPECT_EQ(server->stats().connections_refused, 1);
  service.Release();
}

TEST_F(AbuseTest, PipeliningWithoutEndIntoAStreamIsCut) {
  Start();
  RawClient client(port());
  client.Get("/v1/transcode/held.mp4");
  ASSERT_TRUE(client.ReceiveHead());
  client.Send(std::string(1'000'000, 'x'));
  EXPECT_TRUE(service.AwaitCancels(1));
}

TEST_F(AbuseTest, ClientsThatLeaveInTheMiddle) {
  Start();
  const std::string request = "GET /v1/transcode/small.mp4 HTTP/1.1\r\nHost: h\r\n\r\n";
  for (std::size_t length = 0; length <= request.size(); ++length) {
    RawClient client(port());
    client.Send(request.substr(0, length));
    if (length % 2 == 0) client.Reset();
  }
  ExpectAlive();
  EXPECT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.connections == 0; }));
}

}  // namespace
}  // namespace gopmill
