// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/movie_media.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/late_end.h"
#include "server/rtsp/session_guard.h"

namespace gopmill {
namespace {

constexpr std::chrono::seconds kPatience(2);
constexpr const char* kMarker = "gopmill-marker";
constexpr const char* kMarksKey = "gopmill-marks";

struct MovieMediaClass {
  GstRTSPMediaClass parent;
};
struct MovieMedia {
  GstRTSPMedia parent;
};

// Markers that were put on the bus of a media and those of them that have arrived; whether it is
// held.
struct Marks {
  Mutex mutex;
  CondVar arrival;
  std::uint64_t sent GOPMILL_GUARDED_BY(mutex) = 0;
  std::uint64_t arrived GOPMILL_GUARDED_BY(mutex) = 0;
  bool held GOPMILL_GUARDED_BY(mutex) = false;  // by Hold, until Release
};

// Null for media of another kind: what a publisher sends.
Marks* MarksOf(GstRTSPMedia& media) {
  return static_cast<Marks*>(g_object_get_data(G_OBJECT(&media), kMarksKey));
}

// Null for what a session plays unless it is a movie, which is its own.
Marks* MarksOfMovie(GstRTSPSessionMedia& session) {
  GstRTSPMedia* media = gst_rtsp_session_media_get_media(&session);
  return gst_rtsp_media_is_shared(media) != FALSE ? nullptr : MarksOf(*media);
}

GstRTSPMediaClass* ParentClass() {
  return static_cast<GstRTSPMediaClass*>(g_type_class_peek(GST_TYPE_RTSP_MEDIA));
}

// On the thread of the media's bus.
gboolean HandleMessage(GstRTSPMedia* media, GstMessage* message) noexcept {
  if (gst_message_has_name(message, kMarker) == FALSE) {
    return ParentClass()->handle_message(media, message);
  }
  Marks* marks = MarksOf(*media);
  const MutexLock lock(marks->mutex);
  ++marks->arrived;
  marks->arrival.NotifyAll();
  return TRUE;
}

gboolean SetUpSender(GstRTSPMedia* /*media*/, GstElement* rtpbin) noexcept {
  GuardSessions(rtpbin, SessionUse::kPlay);
  return TRUE;
}

void InitClass(gpointer type, gpointer /*data*/) noexcept {
  static_cast<GstRTSPMediaClass*>(type)->handle_message = &HandleMessage;
  static_cast<GstRTSPMediaClass*>(type)->setup_rtpbin = &SetUpSender;
}

gst::Object<GstElement> PipelineOf(GstRTSPMedia& media) {
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(&media));
  return gst::Adopt(GST_ELEMENT(gst_object_get_parent(GST_OBJECT(bin.get()))));
}

// Of all tracks, those that nobody has set up as well.
void TellEnds(GstRTSPMedia& media) {
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(&media));
  for (guint i = 0; i < gst_rtsp_media_n_streams(&media); ++i) {
    const std::string name = fmt::format("pay{}", i);
    const auto payloader = gst::Adopt(gst_bin_get_by_name(GST_BIN(bin.get()), name.c_str()));
    if (payloader != nullptr) TellEnd(*payloader);
  }
}

// Until all messages that were on the bus before have been handled.
void AwaitMessages(Marks& marks, GstElement& pipeline) {
  const TimePoint deadline = SteadyNow() + kPatience;
  const MutexLock lock(marks.mutex);
  const std::uint64_t own = ++marks.sent;
  gst_element_post_message(&pipeline, gst_message_new_application(
                                          GST_OBJECT(&pipeline), gst_structure_new_empty(kMarker)));
  while (marks.arrived < own && SteadyNow() < deadline) {
    marks.arrival.WaitFor(marks.mutex, deadline - SteadyNow());
  }
}

}  // namespace

GType MovieMediaType() {
  static const GType kType = gst::Subclass<MovieMediaClass, MovieMedia>(
      GST_TYPE_RTSP_MEDIA, "GopmillMovieMedia", &InitClass);
  return kType;
}

void InitMovieMedia(GstRTSPMedia& media) {
  g_object_set_data_full(G_OBJECT(&media), kMarksKey, new Marks,
                         [](gpointer marks) noexcept { delete static_cast<Marks*>(marks); });
}

bool Hold(const GstRTSPContext& context) {
  GstRTSPSessionMedia* session = context.sessmedia;
  if (session == nullptr ||
      gst_rtsp_session_media_get_rtsp_state(session) != GST_RTSP_STATE_PLAYING) {
    return false;
  }
  Marks* marks = MarksOfMovie(*session);
  if (marks == nullptr) return false;
  const auto pipeline = PipelineOf(*gst_rtsp_session_media_get_media(session));
  if (pipeline == nullptr) return false;
  TellEnds(*gst_rtsp_session_media_get_media(session));
  gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
  gst_rtsp_session_media_set_rtsp_state(session, GST_RTSP_STATE_READY);
  const MutexLock lock(marks->mutex);
  marks->held = true;
  return true;
}

void Release(GstRTSPSessionMedia& session) {
  Marks* marks = MarksOfMovie(session);
  if (marks == nullptr) return;
  {
    const MutexLock lock(marks->mutex);
    if (!std::exchange(marks->held, false)) return;
  }
  gst_rtsp_session_media_set_state(&session, GST_STATE_PAUSED);
}

void Settle(const GstRTSPContext& context) {
  GstRTSPSessionMedia* session = context.sessmedia;
  Marks* marks = session == nullptr ? nullptr : MarksOfMovie(*session);
  if (marks == nullptr) return;
  Release(*session);
  TellEnds(*gst_rtsp_session_media_get_media(session));
  if (gst_rtsp_session_media_get_rtsp_state(session) == GST_RTSP_STATE_PLAYING) {
    gst_rtsp_session_media_set_state(session, GST_STATE_PAUSED);
    gst_rtsp_session_media_set_rtsp_state(session, GST_RTSP_STATE_READY);
  }
  const auto pipeline = PipelineOf(*gst_rtsp_session_media_get_media(session));
  if (pipeline == nullptr) return;
  gst_element_get_state(pipeline.get(), nullptr, nullptr,
                        std::chrono::nanoseconds(kPatience).count());
  AwaitMessages(*marks, *pipeline);
}

void LetAllPlay(GstRTSPMedia& media) {
  const auto play = [](const GValue* part, gpointer) noexcept {
    gst_element_set_state(GST_ELEMENT(g_value_get_object(part)), GST_STATE_PLAYING);
  };
  const auto pipeline = PipelineOf(media);
  if (pipeline == nullptr) return;
  GstIterator* parts = gst_bin_iterate_elements(GST_BIN(pipeline.get()));
  while (gst_iterator_foreach(parts, play, nullptr) == GST_ITERATOR_RESYNC) {
    gst_iterator_resync(parts);
  }
  gst_iterator_free(parts);
}

}  // namespace gopmill
