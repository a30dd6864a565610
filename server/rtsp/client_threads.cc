// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_threads.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>

#include "server/rtsp/client_state.h"
#include "server/rtsp/interleaved_data.h"
#include "server/rtsp/means.h"
#include "server/rtsp/publishing.h"

namespace gopmill {
namespace {

// A subclass because gst-rtsp-server has no other way to learn the thread of a client.
struct ClientThreadsClass {
  GstRTSPThreadPoolClass parent;
};
struct ClientThreads {
  GstRTSPThreadPool parent;
};

GstRTSPThreadPoolClass* parent_class = nullptr;

// A media that is refused its thread is never prepared, so that nothing would tell its factory,
// which keeps those that are shared until then.
void Forget(GstRTSPMedia* media) {
  if (media == nullptr || gst_rtsp_media_get_status(media) != GST_RTSP_MEDIA_STATUS_UNPREPARED) {
    return;
  }
  g_signal_emit_by_name(media, "unprepared");
}

// For clients on the server's loop, under the server's lock; ClientListener has seen that there are
// threads. For media on the client's thread; without one the library answers 503.
GstRTSPThread* GetThread(GstRTSPThreadPool* pool, GstRTSPThreadType type,
                         GstRTSPContext* context) noexcept {
  if (type == GST_RTSP_THREAD_TYPE_MEDIA && !CheckMeans().ok()) {
    Forget(context->media);
    return nullptr;
  }
  GstRTSPThread* thread = parent_class->get_thread(pool, type, context);
  if (type != GST_RTSP_THREAD_TYPE_CLIENT || thread == nullptr || context->client == nullptr) {
    return thread;
  }
  if (ClientState* state = StateOf(context->client); state != nullptr) {
    const MutexLock lock(state->mutex);
    state->loop.reset(g_main_context_ref(thread->context));
  }
  return thread;
}

// On the thread itself, which may have been that of another client.
void EnterThread(GstRTSPThreadPool* /*pool*/, GstRTSPThread* /*thread*/) noexcept {
  ForgetChannels();
}

void InitClientThreads(gpointer type, gpointer /*data*/) noexcept {
  parent_class = static_cast<GstRTSPThreadPoolClass*>(g_type_class_peek_parent(type));
  static_cast<GstRTSPThreadPoolClass*>(type)->get_thread = &GetThread;
  static_cast<GstRTSPThreadPoolClass*>(type)->thread_enter = &EnterThread;
}

GType ClientThreadsType() {
  static const GType kType = gst::Subclass<ClientThreadsClass, ClientThreads>(
      GST_TYPE_RTSP_THREAD_POOL, "GopmillClientThreads", &InitClientThreads);
  return kType;
}

// Takes the client's connection away from the media: the library does that when a connection goes,
// but not when a session is removed.
GstRTSPFilterResult Unlink(GstRTSPSession* /*session*/, GstRTSPSessionMedia* media,
                           gpointer /*data*/) noexcept {
  gst_rtsp_session_media_set_state(media, GST_STATE_NULL);
  return GST_RTSP_FILTER_REMOVE;
}

GstRTSPFilterResult EndSession(GstRTSPClient* /*client*/, GstRTSPSession* session,
                               gpointer /*data*/) noexcept {
  g_list_free(gst_rtsp_session_filter(session, &Unlink, nullptr));
  return GST_RTSP_FILTER_REMOVE;
}

bool IsClosed(ClientState& state) {
  const MutexLock lock(state.mutex);
  return state.closed;
}

gboolean Close(gpointer pointer) noexcept {
  auto* client = static_cast<GstRTSPClient*>(pointer);
  // While its pipeline runs; and a client whose sessions are all UDP is kept by the library when
  // its connection goes.
  Publishing::Finish(*StateOf(client));
  g_list_free(gst_rtsp_client_session_filter(client, &EndSession, nullptr));
  gst_rtsp_client_close(client);
  // The library tells nobody when the connection of such a client has gone before.
  if (!IsClosed(*StateOf(client))) g_signal_emit_by_name(client, "closed");
  return G_SOURCE_REMOVE;
}

// The library takes seconds for what has come already, byte by byte.
void Discard(int socket) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  constexpr int kMost = 64;  // more than the kernel keeps
  for (int i = 0; i < kMost; ++i) {
    if (recv(socket, nullptr, kAtOnce, MSG_DONTWAIT | MSG_TRUNC) <= 0) return;
  }
}

// Reads end from now on. The kernel tells a sender of its new room as long as there is a way only,
// and of the end when it uses that.
void EndReads(int socket) {
  Discard(socket);
  shutdown(socket, SHUT_RDWR);
  Discard(socket);
}

// What comes by a tunnel through HTTP comes on a socket of its own, which is borrowed: looked at
// while the thread that would close it is reading, that is before it is woken.
void Cut(GstRTSPClient& client, ClientState& state) GOPMILL_REQUIRES(state.mutex) {
  UniqueFd of_tunnel;
  GstRTSPConnection* connection = gst_rtsp_client_get_connection(&client);
  GSocket* read = connection == nullptr ? nullptr : gst_rtsp_connection_get_read_socket(connection);
  if (read != nullptr && read != gst_rtsp_connection_get_write_socket(connection)) {
    of_tunnel = UniqueFd(fcntl(g_socket_get_fd(read), F_DUPFD_CLOEXEC, 0));
  }
  if (state.socket.valid()) EndReads(state.socket.get());
  if (of_tunnel.valid()) EndReads(of_tunnel.get());
}

}  // namespace

gst::Object<GstRTSPThreadPool> MakeClientThreads(int threads) {
  auto pool = gst::Adopt(GST_RTSP_THREAD_POOL(g_object_new(ClientThreadsType(), nullptr)));
  gst_rtsp_thread_pool_set_max_threads(pool.get(), threads);
  return pool;
}

bool CloseSoon(GstRTSPClient* client) {
  ClientState* state = StateOf(client);
  if (state == nullptr) return false;
  const MutexLock lock(state->mutex);
  // Its thread ends, or has: a source that nobody runs would keep the client for good.
  if (state->closed) return true;
  if (state->loop == nullptr) return false;
  if (std::exchange(state->told_to_end, true)) {
    Cut(*client, *state);
    return true;
  }
  // A source, not g_main_context_invoke: that may run it here, before the thread has begun.
  GSource* source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_source_set_callback(source, &Close, g_object_ref(client), &g_object_unref);
  g_source_attach(source, state->loop.get());
  g_source_unref(source);
  return true;
}

}  // namespace gopmill
