// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_threads.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "server/rtsp/client_listener.h"
#include "server/rtsp/client_state.h"
#include "server/rtsp/gst_start.h"
#include "tests/unit/http/raw_client.h"

namespace gopmill {
namespace {

// A server that serves nothing, whose loop is the test.
class ClientThreads : public testing::Test {
 protected:
  void SetUp() override {
    StartGStreamer();
    server_ = gst::Adopt(gst_rtsp_server_new());
    gst_rtsp_server_set_address(server_.get(), "127.0.0.1");
    gst_rtsp_server_set_service(server_.get(), "0");
    gst_rtsp_server_set_thread_pool(server_.get(), MakeClientThreads(-1).get());
    g_signal_connect(server_.get(), "client-connected", G_CALLBACK(&OnConnected), this);
    loop_.reset(g_main_context_new());
    listener_.emplace(*server_, [] { return ClientListener::Coming::kNow; });
    ASSERT_TRUE(listener_->Start(loop_.get()));
  }
  static void OnConnected(GstRTSPServer* /*server*/, GstRTSPClient* client,
                          gpointer self) noexcept {
    auto& test = *static_cast<ClientThreads*>(self);
    AttachState(client, {}, test.presence_);
    g_signal_connect(client, "closed", G_CALLBACK(&OnClosed), nullptr);
    test.client_ = gst::Share(client);
  }
  static void OnClosed(GstRTSPClient* client, gpointer /*data*/) noexcept {
    ClientState* state = StateOf(client);
    const MutexLock lock(state->mutex);
    state->closed = true;
    state->socket = UniqueFd();
  }
  // False after ten seconds.
  bool AwaitClient() {
    const TimePoint end = SteadyNow() + std::chrono::seconds(10);
    while (client_ == nullptr && SteadyNow() < end) {
      if (g_main_context_iteration(loop_.get(), FALSE) == 0) std::this_thread::yield();
    }
    return client_ != nullptr;
  }
  [[nodiscard]] bool IsClosed() const {
    ClientState* state = StateOf(client_.get());
    const MutexLock lock(state->mutex);
    return state->closed;
  }
  // Waits until the client's thread, which owns its loop, has ended. False after ten seconds.
  [[nodiscard]] bool AwaitEnd() const {
    ClientState* state = StateOf(client_.get());
    const TimePoint end = SteadyNow() + std::chrono::seconds(10);
    while (SteadyNow() < end) {
      std::this_thread::yield();
      const MutexLock lock(state->mutex);
      if (!state->closed || g_main_context_acquire(state->loop.get()) == FALSE) continue;
      g_main_context_release(state->loop.get());
      return true;
    }
    return false;
  }

  gst::Object<GstRTSPServer> server_;
  gst::Loop loop_;
  std::optional<ClientListener> listener_;
  std::shared_ptr<int> presence_ = std::make_shared<int>();
  gst::Object<GstRTSPClient> client_;  // goes first
};

TEST_F(ClientThreads, NothingKeepsAClientThatHasEnded) {
  std::optional<RawClient> peer(listener_->port());
  ASSERT_TRUE(AwaitClient());
  ASSERT_TRUE(peer->Send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"));
  ASSERT_TRUE(peer->ReceiveHead()) << "its thread has begun";
  peer.reset();
  ASSERT_TRUE(AwaitEnd());
  EXPECT_TRUE(CloseSoon(client_.get()));
  gpointer seen = client_.get();
  g_object_add_weak_pointer(G_OBJECT(client_.get()), &seen);
  EXPECT_GT(presence_.use_count(), 1) << "its media may be there yet";
  client_.reset();
  EXPECT_EQ(seen, nullptr);
  EXPECT_EQ(presence_.use_count(), 1);
}

// The library reads such a header in one go and does nothing else for the client meanwhile.
TEST_F(ClientThreads, AClientThatIsInTheMiddleOfARequestIsCut) {
  RawClient peer(listener_->port());
  ASSERT_TRUE(AwaitClient());
  ASSERT_TRUE(peer.Send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n"));
  std::jthread sender([&peer](const std::stop_token& stop) {
    const std::string lines(6000, 'b');
    while (!stop.stop_requested() && peer.Send("X: " + lines + "\r\n")) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(CloseSoon(client_.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(IsClosed()) << "the test is not what it says";
  EXPECT_TRUE(CloseSoon(client_.get()));
  EXPECT_TRUE(AwaitEnd());
}

}  // namespace
}  // namespace gopmill
