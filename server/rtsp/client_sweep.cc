// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_sweep.h"

#include <poll.h>

#include <utility>

#include "base/log.h"
#include "server/rtsp/client_state.h"
#include "server/rtsp/client_threads.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/publishing.h"
#include "server/rtsp/rtsp_server.h"

namespace gopmill {
namespace {

constexpr guint kSweepSeconds = 1;

// A client that waits for an answer reads on and sends nothing: one that will send nothing more has
// left. Its own thread, which would see that, waits as well.
void NoticeLeaving(ClientState& state) {
  pollfd peer{.fd = -1, .events = POLLRDHUP, .revents = 0};
  {
    const MutexLock lock(state.mutex);
    peer.fd = state.socket.get();
    if (!state.answering || poll(&peer, 1, 0) <= 0) return;
  }
  if ((peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) state.leave.request_stop();
}

GstRTSPFilterResult FindFailed(GstRTSPSession* /*session*/, GstRTSPSessionMedia* media,
                               gpointer failed) noexcept {
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(gst_rtsp_session_media_get_media(media)));
  if (bin != nullptr && Playback::Failed(*bin)) *static_cast<bool*>(failed) = true;
  return GST_RTSP_FILTER_KEEP;
}

// A player that waits for more of a stream that failed, or was stopped: the end of its connection
// tells it that there is none.
bool PlaysWhatFailed(GstRTSPClient& client) {
  bool failed = false;
  const auto look = [](GstRTSPClient*, GstRTSPSession* session, gpointer found) noexcept {
    g_list_free(gst_rtsp_session_filter(session, &FindFailed, found));
    return GST_RTSP_FILTER_KEEP;
  };
  g_list_free(gst_rtsp_client_session_filter(&client, look, &failed));
  return failed;
}

}  // namespace

void ClientSweep::Start(GMainContext* loop) {
  source_ = g_timeout_source_new_seconds(kSweepSeconds);
  g_source_set_callback(source_, &Run, this, nullptr);
  g_source_attach(source_, loop);
}

void ClientSweep::Stop() {
  if (source_ == nullptr) return;
  g_source_destroy(source_);
  g_source_unref(std::exchange(source_, nullptr));
}

gboolean ClientSweep::Run(gpointer pointer) noexcept {
  auto* self = static_cast<ClientSweep*>(pointer);
  const auto sessions = gst::Adopt(gst_rtsp_server_get_session_pool(&self->server_));
  gst_rtsp_session_pool_cleanup(sessions.get());
  self->without_session_ = 0;
  g_list_free(gst_rtsp_server_client_filter(&self->server_, &Look, self));
  return G_SOURCE_CONTINUE;
}

GstRTSPFilterResult ClientSweep::FindSilent(GstRTSPServer* /*server*/, GstRTSPClient* client,
                                            gpointer pointer) noexcept {
  auto& silent = *static_cast<Silent*>(pointer);
  ClientState* state = StateOf(client);
  if (state == nullptr || HasSession(*client)) return GST_RTSP_FILTER_KEEP;
  const MutexLock lock(state->mutex);
  silent.leaving = silent.leaving || state->sent_away;
  if (state->sent_away || state->answering || state->heard >= silent.heard) {
    return GST_RTSP_FILTER_KEEP;
  }
  silent.client = gst::Share(client);
  silent.heard = state->heard;
  return GST_RTSP_FILTER_KEEP;
}

bool ClientSweep::MakeRoom() {
  Silent silent;
  g_list_free(gst_rtsp_server_client_filter(&server_, &FindSilent, &silent));
  if (silent.client == nullptr || !CloseSoon(silent.client.get())) return silent.leaving;
  ClientState& state = *StateOf(silent.client.get());
  const MutexLock lock(state.mutex);
  state.sent_away = true;
  return true;
}

// The library keeps what a client does not take apart from what others get, up to ten seconds of
// it; this ends the client.
bool ClientSweep::Stalled(ClientState& state) const {
  const MutexLock lock(state.mutex);
  if (!state.socket.valid()) return false;
  if (state.stall.Look(state.socket.get(), SteadyNow()) <= stall_timeout_) return false;
  if (!std::exchange(state.stalled, true)) {
    spdlog::info("rtsp: {}: cut off, no byte was taken for {:.0f} s", state.peer,
                 ToSeconds(stall_timeout_));
  }
  return true;
}

// Ends connections that have been silent for long and play nothing, and those over the limit.
GstRTSPFilterResult ClientSweep::Look(GstRTSPServer* /*server*/, GstRTSPClient* client,
                                      gpointer pointer) noexcept {
  if (!static_cast<ClientSweep*>(pointer)->Unwanted(*client)) return GST_RTSP_FILTER_KEEP;
  return CloseSoon(client) ? GST_RTSP_FILTER_KEEP : GST_RTSP_FILTER_REMOVE;
}

bool ClientSweep::Unwanted(GstRTSPClient& client) {
  ClientState* state = StateOf(&client);
  if (state == nullptr) return false;
  NoticeLeaving(*state);
  if (Publishing::Over(*state) || Stalled(*state) || PlaysWhatFailed(client)) return true;
  if (HasSession(client)) return false;
  const MutexLock lock(state->mutex);
  if (state->answering) return false;  // it waits for us, such as for the first picture
  return SteadyNow() - state->heard > idle_timeout_ || ++without_session_ > kSpareConnections;
}

}  // namespace gopmill
