// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_session.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "server/rtsp/announcement.h"
#include "server/rtsp/connect_failure.h"
#include "server/rtsp/means.h"
#include "server/rtsp/session_guard.h"

namespace gopmill {
namespace {

// Microseconds in which a peer must answer a request of TCP.
constexpr guint64 kAnswerMicros = 10'000'000;

// User data of a signal, which owns it.
gpointer Hold(std::weak_ptr<PullSession> session) {
  return new std::weak_ptr<PullSession>(std::move(session));
}
void Drop(gpointer held, GClosure* /*closure*/) noexcept {
  delete static_cast<std::weak_ptr<PullSession>*>(held);
}
std::shared_ptr<PullSession> Get(gpointer held) {
  return static_cast<std::weak_ptr<PullSession>*>(held)->lock();
}

// Number of the stream that a pad of an rtspsrc belongs to: the first one of "stream_1" and of
// "recv_rtp_src_1_3735928559_96".
std::optional<guint> NumberOf(GstPad* pad) {
  const gst::Text name(gst_pad_get_name(pad));
  const std::string_view text(name.get());
  const std::size_t start = std::min(text.find_first_of("0123456789"), text.size());
  guint number = 0;
  const auto parsed = std::from_chars(text.data() + start, text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::shared_ptr<PullSession> PullSession::Start(const PullSource& source, Duration silence,
                                                Service& service) {
  std::shared_ptr<PullSession> self(new PullSession(source, silence, service));
  self->Begin();
  return self;
}

void PullSession::Begin() {
  pipeline_ = gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))));
  if (const Status means = CheckMeans(); !means.ok()) return Fail({means.error().message});
  GstElement* peer = gst_element_factory_make("rtspsrc", nullptr);
  if (peer == nullptr) return Fail({"GStreamer's rtspsrc (gstreamer1.0-plugins-good) is missing"});
  // rtsp:// goes over TCP, where nothing is lost. The other schemes say it themselves.
  if (source_.url.starts_with("rtsp://"))
    gst_util_set_object_arg(G_OBJECT(peer), "protocols", "tcp");
  g_object_set(peer, "location", source_.url.c_str(), "latency", kJitterMilliseconds, "tcp-timeout",
               kAnswerMicros, nullptr);
  const auto connect = [&](const char* signal, GCallback callback) {
    g_signal_connect_data(peer, signal, callback, Hold(weak_from_this()), &Drop,
                          static_cast<GConnectFlags>(0));
  };
  const auto bus = gst::Adopt(gst_element_get_bus(pipeline_.get()));
  gst_bus_set_sync_handler(bus.get(), &PullSession::OnMessage, Hold(weak_from_this()),
                           [](gpointer held) noexcept { Drop(held, nullptr); });
  // Over UDP rtspsrc does it by itself.
  if (!OverUdp(source_)) keep_alive_ = KeepAlive::Make(peer, source_.name);
  connect("on-sdp", G_CALLBACK(&PullSession::OnSdp));
  connect("select-stream", G_CALLBACK(&PullSession::OnSelect));
  connect("new-manager", G_CALLBACK(&PullSession::OnManager));
  connect("pad-added", G_CALLBACK(&PullSession::OnPad));
  gst_bin_add(GST_BIN(pipeline_.get()), peer);
  if (gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    Fail({"it cannot be connected to"});
  }
}

void PullSession::Fail(PullFailure why) {
  const MutexLock lock(mutex_);
  if (failure_) return;
  spdlog::warn("live {}: {}: {}", source_.name, PeerOf(source_.url), why.text);
  failure_ = std::move(why);
}

std::shared_ptr<Reception> PullSession::reception() const {
  const MutexLock lock(mutex_);
  return publication_.reception;
}

void PullSession::OnSdp(GstElement* /*element*/, GstSDPMessage* sdp, gpointer held) noexcept {
  const auto self = Get(held);
  if (self == nullptr) return;
  if (const Status status = self->Prepare(*sdp); !status.ok()) {
    self->Fail({status.error().ToString()});
  }
}

Status PullSession::Prepare(const GstSDPMessage& sdp) {
  GOPMILL_ASSIGN_OR_RETURN(const Announcement announcement, ReadAnnouncement(sdp));
  GOPMILL_RETURN_IF_ERROR(CheckMeans());
  GOPMILL_ASSIGN_OR_RETURN(Publication publication, MakePublication(announcement, silence_));
  GstElement* bin = publication.bin.get();
  gst_bin_add(GST_BIN(pipeline_.get()), GST_ELEMENT(gst_object_ref(bin)));
  publication.reception->PreparePipeline(bin);
  gst_element_sync_state_with_parent(bin);
  const MutexLock lock(mutex_);
  publication_ = std::move(publication);
  left_out_ = announcement.unusable_text();
  heard_ = SteadyNow();
  return OkStatus();
}

// Not before: a peer that describes its streams may refuse to send them. Who publishes by a
// decision of their own keep the name: a source that is fetched comes back by itself, and would
// take it again and again.
Status PullSession::Publish() {
  const MutexLock turn(publishing_);
  std::shared_ptr<Reception> reception;
  {
    const MutexLock lock(mutex_);
    if (published_) return *published_;
    reception = publication_.reception;
  }
  if (reception == nullptr) return OkStatus();  // stopped
  Status status = service_.PublishPackets(
      source_.name, PeerOf(source_.url), reception->feed(), Takeover::kNever,
      [weak = weak_from_this()](const Result<std::string>& counts) {
        if (const auto self = weak.lock()) self->OnUnpublished(counts);
      });
  const MutexLock lock(mutex_);
  published_ = status;
  return status;
}

void PullSession::OnUnpublished(const Result<std::string>& counts) {
  const MutexLock lock(mutex_);
  unpublished_ = counts.ok() ? OkStatus() : Status(counts.error());
}

gboolean PullSession::OnSelect(GstElement* /*element*/, guint number, GstCaps* /*caps*/,
                               gpointer held) noexcept {
  const auto self = Get(held);
  const auto reception = self == nullptr ? nullptr : self->reception();
  return reception != nullptr && reception->Uses(number) ? TRUE : FALSE;
}

void PullSession::OnManager(GstElement* /*element*/, GstElement* manager, gpointer held) noexcept {
  GuardSessions(manager, SessionUse::kFetch);  // it has none so far
  const auto self = Get(held);
  if (self == nullptr) return;
  const MutexLock lock(self->mutex_);
  self->manager_ = gst::Share(manager);
}

void PullSession::OnPad(GstElement* /*element*/, GstPad* pad, gpointer held) noexcept {
  const auto self = Get(held);
  const auto number = NumberOf(pad);
  if (self == nullptr || !number) return;
  std::shared_ptr<Reception> reception;
  gst::Object<GstElement> depayloader;
  GObject* session = nullptr;
  {
    const MutexLock lock(self->mutex_);
    reception = self->publication_.reception;
    if (reception == nullptr || !reception->Uses(*number)) return;
    const std::string name = "depay" + std::to_string(*number);
    depayloader =
        gst::Adopt(gst_bin_get_by_name(GST_BIN(self->publication_.bin.get()), name.c_str()));
    if (self->manager_ != nullptr) {
      g_signal_emit_by_name(self->manager_.get(), "get-internal-session", *number, &session);
      if (self->keep_alive_ != nullptr) self->keep_alive_->Follow(self->manager_.get(), *number);
    }
  }
  if (session != nullptr) {
    reception->ListenTo(*number, session);
    g_object_unref(session);
  }
  if (const Status status = self->Publish(); !status.ok()) {
    return self->Fail({status.error().ToString()});
  }
  const auto sink = gst::Adopt(gst_element_get_static_pad(depayloader.get(), "sink"));
  if (gst_pad_link_maybe_ghosting(pad, sink.get()) == FALSE) self->Fail({"a stream is not usable"});
}

// On the thread of rtspsrc that could not connect, which may wait for the network; the pipeline
// waits for it when it stops.
GstBusSyncReply PullSession::OnMessage(GstBus* /*bus*/, GstMessage* message,
                                       gpointer held) noexcept {
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR || !CannotConnect(*message)) {
    return GST_BUS_PASS;
  }
  if (const auto self = Get(held)) {
    std::string why = ConnectFailure(PeerOf(self->source_.url), self->leave_.get());
    if (!why.empty()) self->Fail({std::move(why)});
  }
  return GST_BUS_PASS;
}

void PullSession::ReadMessages() {
  const auto bus = gst::Adopt(gst_element_get_bus(pipeline_.get()));
  while (GstMessage* message = gst_bus_pop_filtered(
             bus.get(), static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS))) {
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) {
      Fail({"the peer has ended it"});
    } else {
      Fail(FailureOf(*message, source_));
    }
    gst_message_unref(message);
  }
}

// The first that is found is told, so what was done here is looked at before what that did to the
// pipeline, and what the peer did before what that did here.
std::optional<PullFailure> PullSession::failure() {
  bool silent = false, described = false, abandoned = false;
  std::optional<Status> unpublished;
  {
    const MutexLock lock(mutex_);
    described = publication_.reception != nullptr;
    const bool taken = published_ && published_->ok();
    abandoned = taken && described && publication_.reception->feed()->abandoned();
    silent = !published_ && SteadyNow() - heard_ > silence_;
    unpublished = unpublished_;
  }
  if (abandoned && !unpublished) return std::nullopt;  // it is about to be told why
  const std::string here = unpublished && !unpublished->ok() ? unpublished->error().ToString() : "";
  if (!here.empty() && unpublished->error().code == Code::kAlreadyExists) Fail({here});
  ReadMessages();
  if (abandoned) Fail({here.empty() ? "nothing came, or it is not usable" : here});
  if (silent) Fail({described ? "the peer sends nothing" : "the peer does not answer"});
  const MutexLock lock(mutex_);
  return failure_;
}

std::string PullSession::left_out() const {
  const MutexLock lock(mutex_);
  return left_out_;
}

bool PullSession::published() const {
  const MutexLock lock(mutex_);
  return published_ && published_->ok();
}

void PullSession::Stop() {
  Publication taken;
  {
    const MutexLock lock(mutex_);
    taken = std::exchange(publication_, {});
    manager_.reset();
  }
  g_cancellable_cancel(leave_.get());
  // First: a feed that nobody reads may be full, and the pipeline waits for its threads.
  if (taken.reception != nullptr) taken.reception->feed()->End();
  gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
}

}  // namespace gopmill
