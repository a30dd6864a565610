// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/reception.h"

#include <fmt/format.h>
#include <gio/gio.h>
#include <gst/app/gstappsrc.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/rtp_guard.h"
#include "server/rtsp/rtp_loss.h"

namespace gopmill {
namespace {

std::vector<std::uint32_t> RatesOf(const std::vector<Reception::Stream>& streams) {
  std::vector<std::uint32_t> rates;
  for (const auto& stream : streams) rates.push_back(stream.receiver.clock_rate);
  return rates;
}

// Their place; a sender of sound alone has its first stream for that.
std::size_t PicturesOf(const std::vector<Reception::Stream>& streams) {
  const auto is_video = [](const auto& stream) {
    return stream.receiver.kind == TrackKind::kVideo;
  };
  const auto found = std::ranges::find_if(streams, is_video);
  return found == streams.end() ? 0 : static_cast<std::size_t>(found - streams.begin());
}

std::vector<FeedTrack> TracksOf(const std::vector<Reception::Stream>& streams) {
  std::vector<FeedTrack> tracks;
  for (const auto& stream : streams) {
    tracks.push_back({stream.receiver.kind, stream.language, stream.title});
  }
  return tracks;
}

// Big-endian number at a place of a buffer, which is long enough.
std::uint32_t ReadWord(GstBuffer* buffer, std::size_t offset) {
  std::array<std::uint8_t, 4> bytes{};
  gst_buffer_extract(buffer, offset, bytes.data(), bytes.size());
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | bytes[3];
}

// Lets a source end behind what it holds already. An EOS event sent to the pipeline would overtake
// what waits in an appsrc. One for a socket's source waits for what its thread is at: on another
// thread, so that the patience of Drain holds whatever that is, and from the pad, as the element
// would keep its state locked meanwhile.
void EndSource(const GValue* item, gpointer /*data*/) noexcept {
  auto* element = static_cast<GstElement*>(g_value_get_object(item));
  if (GST_IS_APP_SRC(element)) {
    static_cast<void>(gst_app_src_end_of_stream(GST_APP_SRC(element)));
  } else if (GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SOURCE)) {
    gst_element_call_async(
        element,
        [](GstElement* source, gpointer) noexcept {
          const auto pad = gst::Adopt(gst_element_get_static_pad(source, "src"));
          gst_pad_push_event(pad.get(), gst_event_new_eos());
        },
        nullptr, nullptr);
  }
}

// How often a socket is looked at, and for how long it must have been empty: the packet that was
// read last is on its way down the pipeline by then. An end discards it otherwise.
constexpr std::chrono::milliseconds kSocketLook(5);
constexpr std::chrono::milliseconds kSocketQuiet(25);
// Anybody may send to a socket: it is not waited for any longer.
constexpr std::chrono::milliseconds kSocketPatience(300);

// The sockets that the sources of a pipeline read; only those for UDP have one.
void AddSocket(const GValue* item, gpointer sockets) noexcept {
  auto* element = static_cast<GstElement*>(g_value_get_object(item));
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "used-socket") == nullptr) return;
  if (!GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SOURCE)) return;
  GSocket* socket = nullptr;
  g_object_get(element, "used-socket", &socket, nullptr);
  auto& list = *static_cast<std::vector<gst::Object<GSocket>>*>(sockets);
  if (socket != nullptr) list.push_back(gst::Adopt(socket));
}

void ForEach(GstElement* pipeline, GstIteratorForeachFunction call, gpointer data) {
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
  while (gst_iterator_foreach(elements, call, data) == GST_ITERATOR_RESYNC) {
    gst_iterator_resync(elements);
  }
  gst_iterator_free(elements);
}

// What a sender sent by UDP before it said that it leaves has arrived, but is perhaps not read.
void AwaitSockets(GstElement* pipeline) {
  std::vector<gst::Object<GSocket>> sockets;
  ForEach(pipeline, &AddSocket, &sockets);
  if (sockets.empty()) return;
  const auto waiting = [](const auto& socket) {
    return g_socket_get_available_bytes(socket.get()) > 0;
  };
  TimePoint read = SteadyNow();
  const TimePoint deadline = read + kSocketPatience;
  for (TimePoint now = read; now < deadline && now - read < kSocketQuiet; now = SteadyNow()) {
    if (std::ranges::any_of(sockets, waiting)) read = now;
    std::this_thread::sleep_for(kSocketLook);
  }
}

// User data of a probe behind a jitter buffer, which owns it.
struct LossProbe {
  std::shared_ptr<PacketFeed> feed;
  RtpLoss loss;
  static void Destroy(gpointer pointer) noexcept { delete static_cast<LossProbe*>(pointer); }
};

// The pipeline that an element is in, or the outermost bin.
gst::Object<GstElement> Outermost(GstElement* element) {
  auto current = gst::Share(element);
  while (GstObject* parent = gst_object_get_parent(GST_OBJECT(current.get()))) {
    current = gst::Adopt(GST_ELEMENT(parent));
  }
  return current;
}

constexpr std::size_t kRtpNumber = 2,
                      kRtpTime = 4;  // offsets in a packet of RTP, and in a sender's report
constexpr std::size_t kReportNtp = 8, kReportRtp = 16, kReportBytes = 20;
constexpr std::uint32_t kSenderReport = 200;

GstPadProbeReturn OnOrdered(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer probe) noexcept {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_get_size(buffer) < kRtpNumber + 4) return GST_PAD_PROBE_OK;
  const auto number = static_cast<std::uint16_t>(ReadWord(buffer, kRtpNumber) >> 16U);
  LossProbe& self = *static_cast<LossProbe*>(probe);
  self.feed->AddLost(self.loss.OnPacket(number));
  return GST_PAD_PROBE_OK;
}

// What elements make of a sender's times and rates may be anything.
constexpr GstClockTime kLatestTime = GstClockTime{1} << 61U;
constexpr GstClockTime kLongestPacket = 60 * GST_SECOND;

std::int64_t NanosOr(GstClockTime time, GstClockTime most, std::int64_t otherwise) {
  return time <= most ? static_cast<std::int64_t>(time) : otherwise;  // none is the largest
}

using Feed = std::shared_ptr<PacketFeed>;
void DestroyFeed(gpointer pointer, GClosure* /*closure*/) noexcept {
  delete static_cast<Feed*>(pointer);
}

bool IsMadeBy(GstElement* element, std::string_view factory) {
  GstElementFactory* made_by = gst_element_get_factory(element);
  if (made_by == nullptr) return false;
  const gst::Text name(gst_object_get_name(GST_OBJECT(made_by)));
  return name.get() == factory;
}

// A jump of the sequence number by RtpLoss::kLargestLoss (which is this property's 0) or more is
// not a loss but a number that is wild, or a sender that begins anew: the packet is thrown away
// unless those after it go on from there (RFC 3550, appendix A.1). By default the bound is a minute
// of packets at a rate that wild numbers themselves make huge: each made a timer for up to 32,768
// packets, in a list, so seconds of a core with a lock held that the end of the pipeline waits for.
// Set before there is a jitter buffer: they get it when they are made.
void BoundDropout(GstElement* element) {
  constexpr guint kByPackets = 0;
  if (IsMadeBy(element, "rtpbin")) g_object_set(element, "max-dropout-time", kByPackets, nullptr);
}

void WatchIfJitterBuffer(GstElement* element, const Feed& feed) {
  if (!IsMadeBy(element, "rtpjitterbuffer")) return;
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, &OnOrdered,
                    new LossProbe{.feed = feed, .loss = {}}, &LossProbe::Destroy);
}

// rtpmp4adepay hands its first unit out with the length that stands in front of it, which decodes
// to sound of any number of channels. It says so: "framed" is for those behind it.
void DropUnframed(GstElement* element) {
  if (!IsMadeBy(element, "rtpmp4adepay")) return;
  const auto drop_unframed = [](GstPad* pad, GstPadProbeInfo*, gpointer) noexcept {
    GstCaps* caps = gst_pad_get_current_caps(pad);
    gboolean framed = FALSE;
    if (caps != nullptr) {
      gst_structure_get_boolean(gst_caps_get_structure(caps, 0), "framed", &framed);
      gst_caps_unref(caps);
    }
    return framed != FALSE ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
  };
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, drop_unframed, nullptr, nullptr);
}

// rtpulpfecdec, which gst-rtsp-server has in every pipeline that receives, aborts the process at
// the first packet that is missing where its caps have no SSRC: those of packets that came over
// TCP. Its repair is not used.
void DeafenIfRepair(GstElement* element) {
  if (!IsMadeBy(element, "rtpulpfecdec")) return;
  const auto drop_loss = [](GstPad*, GstPadProbeInfo* info, gpointer) noexcept {
    const GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
    return gst_event_has_name(const_cast<GstEvent*>(event), "GstRTPPacketLost") != FALSE
               ? GST_PAD_PROBE_DROP
               : GST_PAD_PROBE_OK;
  };
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_loss, nullptr, nullptr);
}

void OnElement(GstBin* /*bin*/, GstBin* /*inner*/, GstElement* element, gpointer feed) noexcept {
  BoundDropout(element);
  DeafenIfRepair(element);
  WatchIfJitterBuffer(element, *static_cast<Feed*>(feed));
}

}  // namespace

// User data of a callback, which owns it.
struct Reception::Callback {
  std::shared_ptr<Reception> self;
  std::size_t track;
  static void Destroy(gpointer pointer) noexcept { delete static_cast<Callback*>(pointer); }
  static void DestroyClosure(gpointer pointer, GClosure* /*closure*/) noexcept { Destroy(pointer); }
};

// User data of the probe in front of a depayloader, which owns it.
struct Reception::Intake {
  std::shared_ptr<Reception> self;
  std::size_t track;
  RtpGuard guard;
  static void Destroy(gpointer pointer) noexcept { delete static_cast<Intake*>(pointer); }
};

std::shared_ptr<Reception> Reception::Make(std::vector<Stream> streams, Duration silence,
                                           std::vector<std::string> unusable_audio) {
  return std::shared_ptr<Reception>(
      new Reception(std::move(streams), silence, std::move(unusable_audio)));
}

Reception::Reception(std::vector<Stream> streams, Duration silence,
                     std::vector<std::string> unusable_audio)
    : streams_(std::move(streams)),
      feed_(std::make_shared<PacketFeed>(TracksOf(streams_), silence, std::move(unusable_audio))),
      clock_(RatesOf(streams_), PicturesOf(streams_)),
      unfinished_(streams_.size()),
      ended_(streams_.size()),
      listens_(streams_.size()) {}

Reception::~Reception() { feed_->End(); }

std::optional<std::size_t> Reception::TrackOf(std::size_t number) const {
  const auto found = std::ranges::find(streams_, number, &Stream::number);
  if (found == streams_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - streams_.begin());
}

void Reception::Attach(std::size_t number, GstElement* bin) {
  const auto track = TrackOf(number);
  if (!track) return;
  const auto depayloader =
      gst::Adopt(gst_bin_get_by_name(GST_BIN(bin), fmt::format("depay{}", number).c_str()));
  const auto sink =
      gst::Adopt(gst_bin_get_by_name(GST_BIN(bin), fmt::format("sink{}", number).c_str()));
  const auto pad = gst::Adopt(gst_element_get_static_pad(depayloader.get(), "sink"));
  gst_pad_add_probe(
      pad.get(),
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
      &Reception::OnRtp,
      new Intake{shared_from_this(), *track, RtpGuard(streams_[*track].receiver)},
      &Intake::Destroy);
  DropUnframed(depayloader.get());
  // Nothing is done with what header extensions say.
  g_object_set(depayloader.get(), "auto-header-extension", FALSE, nullptr);
  GstAppSinkCallbacks callbacks{};
  callbacks.new_sample = &Reception::OnSample;
  callbacks.eos = &Reception::OnEnd;
  gst_app_sink_set_callbacks(GST_APP_SINK(sink.get()), &callbacks,
                             new Callback{shared_from_this(), *track}, &Callback::Destroy);
}

void Reception::WatchLoss(GstElement* element) {
  if (watches_loss_.exchange(true)) return;
  const auto pipeline = Outermost(element);
  const auto prepare = [](const GValue* item, gpointer) noexcept {
    auto* found = static_cast<GstElement*>(g_value_get_object(item));
    BoundDropout(found);
    DeafenIfRepair(found);
  };
  ForEach(pipeline.get(), prepare, nullptr);
  g_signal_connect_data(pipeline.get(), "deep-element-added", G_CALLBACK(&OnElement),
                        new Feed(feed_), &DestroyFeed, static_cast<GConnectFlags>(0));
}

void Reception::ListenTo(std::size_t number, GObject* session) {
  const auto track = TrackOf(number);
  if (!track) return;
  {
    const MutexLock lock(mutex_);
    if (listens_[*track]) return;
    listens_[*track] = true;
  }
  g_signal_connect_data(session, "on-receiving-rtcp", G_CALLBACK(&Reception::OnReport),
                        new Callback{shared_from_this(), *track}, &Callback::DestroyClosure,
                        static_cast<GConnectFlags>(0));
}

GstPadProbeReturn Reception::OnRtp(GstPad* /*pad*/, GstPadProbeInfo* info,
                                   gpointer pointer) noexcept {
  auto& intake = *static_cast<Intake*>(pointer);
  if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) == 0) {
    const GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_OK;
    return intake.self->OnCaps(intake, event);
  }
  if (!intake.guard.Allow(*GST_PAD_PROBE_INFO_BUFFER(info))) return GST_PAD_PROBE_DROP;
  return intake.self->OnPacket(intake.track, *info);
}

GstPadProbeReturn Reception::OnCaps(Intake& intake, const GstEvent* event) {
  GstCaps* caps = nullptr;
  gst_event_parse_caps(const_cast<GstEvent*>(event), &caps);
  const Status status = intake.guard.TakeCaps(*caps);
  if (status.ok()) return GST_PAD_PROBE_OK;
  spdlog::warn("rtsp: a publisher is cut off: {}", status.error().ToString());
  feed_->End();
  return GST_PAD_PROBE_DROP;
}

GstPadProbeReturn Reception::OnPacket(std::size_t track, GstPadProbeInfo& info) {
  GstBuffer* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(&info));
  GST_PAD_PROBE_INFO_DATA(&info) = buffer;
  const std::size_t size = gst_buffer_get_size(buffer);
  if (size < kRtpTime + 4) return GST_PAD_PROBE_DROP;
  const GstClockTime arrival = GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : 0;
  const std::uint32_t rtp = ReadWord(buffer, kRtpTime);
  const MutexLock lock(mutex_);
  if (!Admit(track, size)) return GST_PAD_PROBE_DROP;
  const std::int64_t time = clock_.OnPacket(track, rtp, static_cast<std::int64_t>(arrival));
  if (clock_.Overlaps(track)) {
    unfinished_[track] -= size;
    return GST_PAD_PROBE_DROP;
  }
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(time);
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
  return GST_PAD_PROBE_OK;
}

// Whether a depayloader may have so much more to keep.
bool Reception::Admit(std::size_t track, std::size_t size) {
  const bool sound = streams_[track].receiver.kind == TrackKind::kAudio;
  const std::size_t most = sound ? kMaxUnfinishedSound : kMaxUnfinishedBytes;
  const std::size_t before = std::exchange(unfinished_[track], unfinished_[track] + size);
  if (unfinished_[track] <= most) return true;
  if (!sound) {
    feed_->End();
  } else if (before <= most) {
    spdlog::warn("rtsp: a track of sound is left out: nothing of it is whole after {} MiB",
                 kMaxUnfinishedSound >> 20U);
  }
  return false;
}

void Reception::OnReport(GObject* /*session*/, GstBuffer* buffer, gpointer callback) noexcept {
  Reception& self = *static_cast<Callback*>(callback)->self;
  const std::size_t track = static_cast<Callback*>(callback)->track;
  if (gst_buffer_get_size(buffer) < kReportBytes) return;
  if (((ReadWord(buffer, 0) >> 16U) & 0xffU) != kSenderReport) return;
  const std::uint64_t ntp =
      (std::uint64_t{ReadWord(buffer, kReportNtp)} << 32U) | ReadWord(buffer, kReportNtp + 4);
  const MutexLock lock(self.mutex_);
  self.clock_.OnReport(track, ntp, ReadWord(buffer, kReportRtp));
}

GstFlowReturn Reception::OnSample(GstAppSink* sink, gpointer callback) noexcept {
  Reception& self = *static_cast<Callback*>(callback)->self;
  const std::size_t track = static_cast<Callback*>(callback)->track;
  GstSample* sample = gst_app_sink_pull_sample(sink);
  if (sample == nullptr) return GST_FLOW_EOS;
  const GstFlowReturn flow = self.Take(track, *sample);
  gst_sample_unref(sample);
  return flow;
}

GstFlowReturn Reception::Take(std::size_t track, GstSample& sample) {
  {
    const MutexLock lock(mutex_);
    unfinished_[track] = 0;
  }
  const TrackKind kind = streams_[track].receiver.kind;
  const GstCaps* caps = gst_sample_get_caps(&sample);
  const auto coded = caps == nullptr ? std::nullopt : CodedTrackOf(*caps);
  if (!coded || coded->kind != kind) return GST_FLOW_NOT_NEGOTIATED;
  feed_->SetTrack(track, *coded);
  GstBuffer* buffer = gst_sample_get_buffer(&sample);
  GstMapInfo map;
  if (buffer == nullptr || gst_buffer_map(buffer, &map, GST_MAP_READ) == FALSE) return GST_FLOW_OK;
  CodedPacket packet{.track = track, .bytes = {map.data, map.size}};
  packet.pts_ns = NanosOr(GST_BUFFER_PTS(buffer), kLatestTime, -1);
  packet.duration_ns = NanosOr(GST_BUFFER_DURATION(buffer), kLongestPacket, 0);
  packet.key =
      kind == TrackKind::kAudio || !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  const Status status = feed_->Push(packet);
  gst_buffer_unmap(buffer, &map);
  return status.ok() ? GST_FLOW_OK : GST_FLOW_EOS;
}

void Reception::OnEnd(GstAppSink* /*sink*/, gpointer callback) noexcept {
  Reception& self = *static_cast<Callback*>(callback)->self;
  const std::size_t track = static_cast<Callback*>(callback)->track;
  {
    const MutexLock lock(self.mutex_);
    self.ended_[track] = true;
  }
  self.changed_.NotifyAll();
}

void Reception::Drain(GstElement* bin, Duration patience) {
  const auto pipeline = Outermost(bin);
  AwaitSockets(pipeline.get());
  // The library stops the pipeline of a client whose connection breaks: nothing comes out any more.
  if (GST_STATE(pipeline.get()) < GST_STATE_PAUSED) return feed_->End();
  const TimePoint deadline = SteadyNow() + patience;
  ForEach(pipeline.get(), &EndSource, nullptr);
  {
    const MutexLock lock(mutex_);
    while (std::ranges::count(ended_, false) > 0 && SteadyNow() < deadline) {
      changed_.WaitFor(mutex_, deadline - SteadyNow());
    }
  }
  feed_->End();
}

}  // namespace gopmill
