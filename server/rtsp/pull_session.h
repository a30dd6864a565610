// SPDX-License-Identifier: Apache-2.0
//
// One connection to a peer that a live source is fetched from: an rtspsrc and what takes its
// streams apart. It publishes at the first packet that comes, and ends once.
//
// Thread-safety: Start, failure and Stop belong to one owner thread; callbacks run on threads of
// the pipeline.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>
#include <gst/sdp/gstsdpmessage.h>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/api/service.h"
#include "server/rtsp/announcement.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/keep_alive.h"
#include "server/rtsp/pull_failure.h"
#include "server/rtsp/pull_sources.h"
#include "server/rtsp/reception.h"

namespace gopmill {

class PullSession : public std::enable_shared_from_this<PullSession> {
 public:
  static std::shared_ptr<PullSession> Start(const PullSource& source, Duration silence,
                                            Service& service);
  ~PullSession() = default;  // after Stop
  PullSession(const PullSession&) = delete;
  PullSession& operator=(const PullSession&) = delete;

  // Once the peer has ended or failed, or nobody takes it here.
  [[nodiscard]] std::optional<PullFailure> failure();
  [[nodiscard]] bool published() const;  // its packets have been taken
  // What the peer sends that cannot be used here: "audio of G726-32, ..."; empty = nothing.
  [[nodiscard]] std::string left_out() const;
  void Stop();

 private:
  PullSession(PullSource source, Duration silence, Service& service)
      : source_(std::move(source)), silence_(silence), service_(service) {}
  void Begin();
  void Fail(PullFailure why);
  Status Prepare(const GstSDPMessage& sdp);
  Status Publish();
  void OnUnpublished(const Result<std::string>& counts);
  std::shared_ptr<Reception> reception() const;
  void ReadMessages();
  static GstBusSyncReply OnMessage(GstBus* bus, GstMessage* message, gpointer self) noexcept;
  static void OnSdp(GstElement* element, GstSDPMessage* sdp, gpointer self) noexcept;
  static gboolean OnSelect(GstElement* element, guint number, GstCaps* caps,
                           gpointer self) noexcept;
  static void OnManager(GstElement* element, GstElement* manager, gpointer self) noexcept;
  static void OnPad(GstElement* element, GstPad* pad, gpointer self) noexcept;

  const PullSource source_;
  const Duration silence_;
  Service& service_;
  gst::Object<GstElement> pipeline_;
  std::shared_ptr<KeepAlive> keep_alive_;  // over TCP
  // Of what a thread of the pipeline finds out about a failure.
  const gst::Object<GCancellable> leave_ = gst::Adopt(g_cancellable_new());

  Mutex publishing_;     // one stream's thread publishes, the others wait for how it went
  mutable Mutex mutex_;  // guards all below
  std::optional<PullFailure> failure_ GOPMILL_GUARDED_BY(mutex_);  // the first
  std::string left_out_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<Status> published_ GOPMILL_GUARDED_BY(mutex_);    // once it was tried
  std::optional<Status> unpublished_ GOPMILL_GUARDED_BY(mutex_);  // how that has ended
  // When the peer has described its streams; before that, when it was asked.
  TimePoint heard_ GOPMILL_GUARDED_BY(mutex_) = SteadyNow();
  Publication publication_ GOPMILL_GUARDED_BY(mutex_);
  gst::Object<GstElement> manager_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
