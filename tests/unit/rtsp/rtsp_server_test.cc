// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/http/fake_service.h"
#include "tests/unit/http/raw_client.h"

namespace gopmill {
namespace {

std::unique_ptr<RtspServer> StartOnAnyPort(FakeService& service, RtspOptions options = {}) {
  options.port = 0;
  auto server = RtspServer::Start(options, service);
  EXPECT_TRUE(server.ok()) << server.error().ToString();
  return server.ok() ? std::move(server).value() : nullptr;
}

// Whether a new connection is answered: those that have been closed may count for a moment.
bool AnswersSoon(int port) {
  const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
  while (SteadyNow() < deadline) {
    RawClient client(port);
    client.Send("OPTIONS rtsp://127.0.0.1/silent.mp4 RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    if (client.ReceiveHead()) return true;
  }
  return false;
}

// Of a start that fails because of something behind RTSP: the thread may not have got far by then.
TEST(RtspServer, CanBeStoppedAsSoonAsItHasStarted) {
  FakeService service;
  RtspOptions options;
  options.port = 0;
  for (int i = 0; i < 200; ++i) {
    const auto server = RtspServer::Start(options, service);
    ASSERT_TRUE(server.ok()) << server.error().ToString();
    EXPECT_GT((*server)->port(), 0);
  }
}

TEST(RtspServer, SaysThatItsPortIsTaken) {
  FakeService service;
  RtspOptions options;
  options.port = 0;
  const auto first = RtspServer::Start(options, service);
  ASSERT_TRUE(first.ok()) << first.error().ToString();
  options.port = (*first)->port();
  const auto second = RtspServer::Start(options, service);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("cannot listen"), std::string::npos)
      << second.error().ToString();
}

// Sends a request whose header does not end until the connection is closed.
class EndlessRequest {
 public:
  // Behind one that has an answer: its thread reads what comes.
  explicit EndlessRequest(int port) : client_(port) {
    client_.Send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    EXPECT_TRUE(client_.ReceiveHead());
    client_.Send("OPTIONS * RTSP/1.0\r\nCSeq: 2\r\n");
    sender_ = std::jthread([this](const std::stop_token& stop) {
      const std::string line = "X: " + std::string(3000, 'b') + "\r\n";
      while (!stop.stop_requested() && client_.Send(line)) {
        ++lines_;
        lines_.notify_all();
      }
      closed_ = !stop.stop_requested();
    });
  }
  void AwaitLines(int count) const {
    for (int now = lines_; now < count; now = lines_) lines_.wait(now);
  }
  bool AwaitClosed() const {
    const TimePoint deadline = SteadyNow() + std::chrono::seconds(15);
    while (!closed_ && SteadyNow() < deadline) std::this_thread::sleep_for(kPause);
    return closed_;
  }

 private:
  static constexpr std::chrono::milliseconds kPause{10};
  RawClient client_;
  std::atomic<int> lines_ = 0;
  std::atomic<bool> closed_ = false;
  std::jthread sender_;
};

TEST(RtspServer, ARequestThatDoesNotEndIsSilence) {
  FakeService service;
  RtspOptions options;
  options.idle_timeout = std::chrono::seconds(1);
  const auto server = StartOnAnyPort(service, options);
  ASSERT_TRUE(server);
  EXPECT_TRUE(EndlessRequest(server->port()).AwaitClosed());
}

TEST(RtspServer, EndsInTheMiddleOfARequest) {
  FakeService service;
  const auto server = StartOnAnyPort(service);
  ASSERT_TRUE(server);
  std::optional<EndlessRequest> request(server->port());
  request->AwaitLines(100);
  const std::jthread stop([&] { server->Stop(); });
  EXPECT_TRUE(request->AwaitClosed());
  request.reset();  // or else a server that waits for it would go on doing so
}

// As for a live source whose first picture takes its time: the player gets its answer and goes on.
TEST(RtspServer, WhoWaitsForAnAnswerIsNotSilent) {
  FakeService service;
  RtspOptions options;
  options.idle_timeout = std::chrono::seconds(1);
  const auto server = StartOnAnyPort(service, options);
  ASSERT_TRUE(server);
  const int port = server->port();
  RawClient waiting(port);
  ASSERT_TRUE(waiting.Send("DESCRIBE rtsp://127.0.0.1/silent.mp4 RTSP/1.0\r\nCSeq: 1\r\n\r\n"));
  // Once two have been sent away, one after the other, all have been looked at that long ago.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(RawClient(port).AwaitClosed());
  }
  service.Release();
  const auto described = waiting.ReceiveHead();
  ASSERT_TRUE(described);
  EXPECT_GE(described->status, 400) << "there is nothing in this stream";
  ASSERT_TRUE(waiting.Send("OPTIONS rtsp://127.0.0.1/silent.mp4 RTSP/1.0\r\nCSeq: 2\r\n\r\n"));
  const auto next = waiting.ReceiveHead();
  ASSERT_TRUE(next) << "it was sent away";
  EXPECT_EQ(next->status, 200);
}

// Each has a thread, and no session, by which players are counted, before the source has come.
TEST(RtspServer, SoManyWaitForALiveSourceAsMayPlay) {
  constexpr int kPlayers = 20;
  FakeService service;
  RtspOptions options;
  options.max_sessions = 4;
  const auto server = StartOnAnyPort(service, options);
  ASSERT_TRUE(server);
  std::vector<RawClient> players;
  std::mutex mutex;
  std::condition_variable answered;
  int refused = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < kPlayers; ++i) players.emplace_back(server->port());
  for (RawClient& player : players) {
    readers.emplace_back([&] {
      player.Send("DESCRIBE rtsp://127.0.0.1/live/silent.mp4 RTSP/1.0\r\nCSeq: 1\r\n\r\n");
      const auto answer = player.ReceiveHead();
      const std::scoped_lock lock(mutex);
      if (answer && answer->status == 503) ++refused;
      answered.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  // One makes the media, four wait for it; the others hear so while those still wait.
  answered.wait_for(lock, std::chrono::seconds(5), [&] { return refused >= kPlayers - 5; });
  EXPECT_EQ(refused, kPlayers - 5);
  lock.unlock();
  service.Release();
}

// Each would have a thread.
TEST(RtspServer, TakesNoConnectionBesideAllThatItHasRoomFor) {
  FakeService service;
  RtspOptions options;
  options.max_sessions = 1;
  const auto server = StartOnAnyPort(service, options);
  ASSERT_TRUE(server);
  const int port = server->port();
  // Who waits for an answer is not sent away for another reason.
  std::vector<RawClient> waiting;
  for (std::uint64_t i = 1; i <= kMaxSpareConnections + 1; ++i) {
    waiting.emplace_back(port).Send(
        "DESCRIBE rtsp://127.0.0.1/silent.mp4 RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
    while (!service.Stream(StreamId{i}).ok() && SteadyNow() < deadline) std::this_thread::yield();
    ASSERT_TRUE(service.Stream(StreamId{i}).ok()) << i;
  }
  EXPECT_TRUE(RawClient(port).AwaitClosed());
  service.Release();
  for (RawClient& client : waiting) EXPECT_TRUE(client.ReceiveHead());
  waiting.clear();
  EXPECT_TRUE(AnswersSoon(port)) << "there is room again";
}

}  // namespace
}  // namespace gopmill
