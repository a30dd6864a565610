// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_state.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/peer_name.h"
#include "server/rtsp/rtsp_request.h"

namespace gopmill {
namespace {

constexpr const char* kStateKey = "gopmill-client";

// Asked while nothing else can close the connection. -1 = none.
int SocketOf(GstRTSPClient& client) {
  GstRTSPConnection* connection = gst_rtsp_client_get_connection(&client);
  GSocket* socket =
      connection == nullptr ? nullptr : gst_rtsp_connection_get_write_socket(connection);
  return socket == nullptr ? -1 : g_socket_get_fd(socket);
}

// One line of a header.
std::string HeaderText(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

void AttachState(GstRTSPClient* client, const std::stop_token& server_stop,
                 std::shared_ptr<void> presence) {
  auto state =
      std::make_unique<ClientState>(server_stop, PeerName(SocketOf(*client)), std::move(presence));
  NoteSocket(*client, *state);
  g_object_set_data_full(G_OBJECT(client), kStateKey, state.release(),
                         [](gpointer held) noexcept { delete static_cast<ClientState*>(held); });
}

void NoteSocket(GstRTSPClient& client, ClientState& state) {
  UniqueFd socket(fcntl(SocketOf(client), F_DUPFD_CLOEXEC, 0));
  const MutexLock lock(state.mutex);
  if (!state.closed) std::swap(state.socket, socket);
}

ClientState* StateOf(GstRTSPClient* client) {
  return static_cast<ClientState*>(g_object_get_data(G_OBJECT(client), kStateKey));
}

bool HasSession(GstRTSPClient& client) {
  GList* sessions = gst_rtsp_client_session_filter(&client, nullptr, nullptr);
  const bool has_session = sessions != nullptr;
  g_list_free_full(sessions, g_object_unref);
  return has_session;
}

ClientState* CurrentState() {
  const GstRTSPContext* context = gst_rtsp_context_get_current();
  return context == nullptr || context->client == nullptr ? nullptr : StateOf(context->client);
}

void SetRefused(ClientState& state, GstRTSPStatusCode status) {
  const MutexLock lock(state.mutex);
  state.status = status;
  state.problem = status == GST_RTSP_STS_FORBIDDEN ? "This user may not do that."
                                                   : "Name and password are needed.";
}

std::shared_ptr<void> TakeClaim(ClientState& state) {
  const MutexLock lock(state.mutex);
  return std::exchange(state.claim, nullptr);
}

void SetProblem(ClientState& state, const Error& error) {
  SetProblem(state, error, static_cast<GstRTSPStatusCode>(RtspStatusOf(error.code)));
}

void SetProblem(ClientState& state, const Error& error, GstRTSPStatusCode status) {
  const MutexLock lock(state.mutex);
  state.status = status;
  state.problem = HeaderText(error.ToString());
}

}  // namespace gopmill
