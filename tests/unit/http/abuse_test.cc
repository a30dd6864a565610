// SPDX-License-Identifier: Apache-2.0
//
// Clients that are broken or hostile: each gets a clear answer or is closed, in bounded time, and
// the server goes on.
#include <spdlog/sinks/ostream_sink.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/log.h"
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

TEST_F(AbuseTest, HalfARequestEndsAtTheTimeout) {
  options.limits.header_timeout = milliseconds(100);
  Start();
  RawClient half(port());
  half.Send("GET /healthz HTTP/1.1\r\nHost:");
  EXPECT_EQ(half.Receive()->status, 408);
  EXPECT_TRUE(half.AwaitClosed());
  RawClient half_body(port());
  half_body.Get("/healthz", "Content-Length: 10\r\n");
  half_body.Send("12345");
  EXPECT_EQ(half_body.Receive()->status, 408);
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

// Leaves no file descriptor for the server's end of a connection while it lives: the client's own
// socket has the last number there may be.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(socket_) + 1;
    setrlimit(RLIMIT_NOFILE, &tight);
  }
  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorLeft(const NoDescriptorLeft&) = delete;
  NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;
  [[nodiscard]] int socket_of_client() const { return socket_; }

 private:
  int socket_;
  rlimit before_{};
};

TEST_F(AbuseTest, AnIdleConnectionMakesRoomWhereNoFileDescriptorIsLeft) {
  Start();
  // The kernel wants a number before it looks whether anybody waits, so that another one makes
  // room.
  std::vector<RawClient> idle;
  for (int i = 0; i < 3; ++i) {
    idle.emplace_back(port());
    idle.back().Get("/healthz");
    EXPECT_EQ(idle.back().Receive()->status, 200);
  }
  const NoDescriptorLeft tight;
  RawClient starved(port(), 0, tight.socket_of_client());
  starved.Get("/healthz");
  const auto served = starved.Receive();
  ASSERT_TRUE(served);
  EXPECT_EQ(served->status, 200);
  EXPECT_TRUE(idle.front().AwaitClosed());
  idle.back().Get("/healthz");
  EXPECT_EQ(idle.back().Receive()->status, 200);
  EXPECT_EQ(server->stats().connections_refused, 0);
}

TEST_F(AbuseTest, OneThatHasJustComeIsHeardBeforeItMakesRoom) {
  options.limits.newcomer_time = std::chrono::minutes(1);
  Start();
  RawClient newcomer(port());
  RawClient idle(port());  // accepted behind it
  idle.Get("/healthz");
  EXPECT_EQ(idle.Receive()->status, 200);
  const NoDescriptorLeft tight;
  RawClient starved(port(), 0, tight.socket_of_client());
  starved.Get("/healthz");
  const auto served = starved.Receive();
  ASSERT_TRUE(served);
  EXPECT_EQ(served->status, 200);
  newcomer.Get("/healthz");
  const auto heard = newcomer.Receive();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->status, 200);
}

TEST_F(AbuseTest, SurvivesHavingNoFileDescriptorLeft) {
  Start();
  std::ostringstream log;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  RawClient busy(port());
  busy.Get("/v1/transcode/held.mp4");
  ASSERT_TRUE(busy.ReceiveHead());
  std::optional<NoDescriptorLeft> tight(std::in_place);
  RawClient starved(port(), 0, tight->socket_of_client());
  EXPECT_TRUE(AwaitStats([](const HttpStats& stats) { return stats.accept_failures >= 3; }));
  tight.reset();
  starved.Get("/healthz");
  EXPECT_EQ(starved.Receive()->status, 200);
  service.Release();
  EXPECT_TRUE(busy.Skip(1));
  EXPECT_EQ(server->stats().connections_refused, 0);
  server->Stop();
  sinks.pop_back();
  const std::string lines = log.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
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
