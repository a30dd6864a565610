// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_requests.h"

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/rtsp/describe_path.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/means.h"
#include "server/rtsp/movie_media.h"
#include "server/rtsp/play_range.h"
#include "server/rtsp/playback.h"
#include "server/rtsp/publishing.h"
#include "server/rtsp/rtsp_request.h"
#include "server/rtsp/shared_media.h"

namespace gopmill {
namespace {

GstRTSPStatusCode OnAny(GstRTSPClient* client, GstRTSPContext* /*context*/,
                        gpointer /*self*/) noexcept {
  NoteRequest(*StateOf(client));
  return GST_RTSP_STS_OK;
}

GstRTSPStatusCode OnPlay(GstRTSPClient* client, GstRTSPContext* context,
                         gpointer /*self*/) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  if (context->media == nullptr) return GST_RTSP_STS_OK;  // the library says what is wrong
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(context->media));
  const Status status = CheckPlay(*context->request, *context->media, Playback::SecondsOf(*bin));
  if (!status.ok()) {
    SetProblem(state, status.error(), GST_RTSP_STS_INVALID_RANGE);
    return GST_RTSP_STS_INVALID_RANGE;
  }
  Settle(*context);
  return GST_RTSP_STS_OK;
}

// A track may be set up anew while its player has paused.
GstRTSPStatusCode OnSetup(GstRTSPClient* client, GstRTSPContext* context,
                          gpointer /*self*/) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  NoteSocket(*client, state);
  if (const Status means = CheckMeans(); !means.ok()) {  // for its sockets, and to send by them
    SetProblem(state, means.error());
    return GST_RTSP_STS_SERVICE_UNAVAILABLE;
  }
  if (context->session == nullptr) return GST_RTSP_STS_OK;
  const std::string path = PlayerPath(state, context->session, *context->uri);
  int matched = 0;
  GstRTSPSessionMedia* media = gst_rtsp_session_get_media(context->session, path.c_str(), &matched);
  if (media != nullptr) Release(*media);
  return GST_RTSP_STS_OK;
}

// Whose packets would wait in front of its pipeline, as many as it likes to send.
bool Publishes(GstRTSPSessionMedia* media) {
  return media != nullptr &&
         (gst_rtsp_media_get_transport_mode(gst_rtsp_session_media_get_media(media)) &
          GST_RTSP_TRANSPORT_MODE_RECORD) != 0;
}

// A status other than 200 keeps the library from pausing a movie's media; CompleteAnswer
// makes 200 of it. What is live plays on.
GstRTSPStatusCode OnPause(GstRTSPClient* client, GstRTSPContext* context,
                          gpointer /*self*/) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  if (Publishes(context->sessmedia)) {
    const Error error{.code = Code::kInvalidArgument,
                      .message = "A publisher does not pause.",
                      .accepted = "TEARDOWN"};
    SetProblem(state, error, GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE);
    return GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE;
  }
  if (context->sessmedia != nullptr) {
    auto live = KeepPlaying(*gst_rtsp_session_media_get_media(context->sessmedia));
    const MutexLock lock(state.mutex);
    std::swap(state.claim, live);
  }
  if (!Hold(*context)) return GST_RTSP_STS_OK;
  const gst::Text session(gst_rtsp_session_get_header(context->session));
  const MutexLock lock(state.mutex);
  state.held = session.get();
  return GST_RTSP_STS_CREATED;
}

GstRTSPStatusCode OnRecord(GstRTSPClient* client, GstRTSPContext* context,
                           gpointer /*self*/) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  const Status status = Publishing::OnRecord(*context);
  if (status.ok()) return GST_RTSP_STS_OK;
  SetProblem(state, status.error());
  return static_cast<GstRTSPStatusCode>(RtspStatusOf(status.error().code));
}

bool HasAnnounced(ClientState& state) {
  const MutexLock lock(state.mutex);
  return state.announced;
}

// The library would go on to take packets of a publisher whose session another connection ends, and
// forget them.
GstRTSPStatusCode OnTeardown(GstRTSPClient* client, GstRTSPContext* context,
                             gpointer /*self*/) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  if (Publishes(context->sessmedia) && !HasAnnounced(state)) {
    const Error error{.code = Code::kInvalidArgument,
                      .message = "Another connection publishes here.",
                      .accepted = "TEARDOWN on that connection, or its end"};
    SetProblem(state, error, GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE);
    return GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE;
  }
  Publishing::Finish(state);
  return GST_RTSP_STS_OK;
}

}  // namespace

void NoteRequest(ClientState& state) {
  std::shared_ptr<Playback> unused;  // of a DESCRIBE whose media was there already
  const std::shared_ptr<void> claim = TakeClaim(state);
  const MutexLock lock(state.mutex);
  state.heard = SteadyNow();
  state.answering = true;
  std::swap(state.opened, unused);
}

void FollowRequests(GstRTSPClient* client) {
  for (const char* request : {"pre-options-request", "pre-get-parameter-request"}) {
    g_signal_connect(client, request, G_CALLBACK(&OnAny), nullptr);
  }
  g_signal_connect(client, "pre-setup-request", G_CALLBACK(&OnSetup), nullptr);
  g_signal_connect(client, "pre-pause-request", G_CALLBACK(&OnPause), nullptr);
  g_signal_connect(client, "pre-play-request", G_CALLBACK(&OnPlay), nullptr);
  g_signal_connect(client, "pre-record-request", G_CALLBACK(&OnRecord), nullptr);
  g_signal_connect(client, "pre-teardown-request", G_CALLBACK(&OnTeardown), nullptr);
}

}  // namespace gopmill
