// SPDX-License-Identifier: Apache-2.0
//
// A process without a file descriptor left: who idles makes room, who has just come is heard
// first, and the server goes on. The sanitizers' own checks open pipes, so that nothing here can
// run under them: CMakeLists.txt leaves this suite out by its name.
#include <spdlog/sinks/ostream_sink.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/log.h"
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

class NoDescriptorTest : public ServerFixture {};

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

TEST_F(NoDescriptorTest, AnIdleConnectionMakesRoom) {
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

TEST_F(NoDescriptorTest, OneThatHasJustComeIsHeardBeforeItMakesRoom) {
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

TEST_F(NoDescriptorTest, TheServerGoesOn) {
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

}  // namespace
}  // namespace gopmill
