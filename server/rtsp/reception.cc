// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/reception.h"

#include <fmt/format.h>
#include <gst/app/gstappsink.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/rtsp/buffer_word.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/receiving_pipeline.h"
#include "server/rtsp/rtp_guard.h"

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

// Offsets in a packet of RTP, and in a sender's report.
constexpr std::size_t kRtpTime = 4;
constexpr std::size_t kReportNtp = 8, kReportRtp = 16, kReportBytes = 20;

// What elements make of a sender's times and rates may be anything.
constexpr GstClockTime kLatestTime = GstClockTime{1} << 61U;
constexpr GstClockTime kLongestPacket = 60 * GST_SECOND;

std::int64_t NanosOr(GstClockTime time, GstClockTime most, std::int64_t otherwise) {
  return time <= most ? static_cast<std::int64_t>(time) : otherwise;  // none is the largest
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

void Reception::PreparePipeline(GstElement* element) {
  if (prepared_.exchange(true)) return;
  PrepareToReceive(PipelineOf(element).get(), feed_);
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
  const std::uint32_t rtp = WordAt(buffer, kRtpTime);
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
  if (static_cast<std::uint8_t>(WordAt(buffer, 0) >> 16U) != kSenderReportType) return;
  const std::uint64_t ntp =
      (std::uint64_t{WordAt(buffer, kReportNtp)} << 32U) | WordAt(buffer, kReportNtp + 4);
  const MutexLock lock(self.mutex_);
  self.clock_.OnReport(track, ntp, WordAt(buffer, kReportRtp));
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
  const auto pipeline = PipelineOf(bin);
  AwaitSockets(pipeline.get());
  // The library stops the pipeline of a client whose connection breaks: nothing comes out any more.
  if (GST_STATE(pipeline.get()) < GST_STATE_PAUSED) return feed_->End();
  const TimePoint deadline = SteadyNow() + patience;
  EndSources(pipeline.get());
  {
    const MutexLock lock(mutex_);
    while (std::ranges::count(ended_, false) > 0 && SteadyNow() < deadline) {
      changed_.WaitFor(mutex_, deadline - SteadyNow());
    }
  }
  feed_->End();
}

}  // namespace gopmill
