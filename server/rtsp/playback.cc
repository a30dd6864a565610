// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/playback.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "server/api/live_name.h"
#include "server/rtsp/late_end.h"
#include "server/rtsp/pace_follower.h"
#include "server/rtsp/playback_buffer.h"
#include "server/rtsp/rtp_time.h"
#include "server/rtsp/track_caps.h"
#include "server/rtsp/vp9_size.h"

namespace gopmill {
namespace {

// A cold source on a busy machine; beyond it the client hears of a time limit.
constexpr std::chrono::seconds kOpenTimeout(20);
// A live source that nobody publishes ends the stream by itself, after the patience that is set: a
// day at most.
constexpr std::chrono::hours kLiveOpenTimeout(25);
// Packets in an appsrc; the others wait in the queue, where their bytes and seconds are counted.
constexpr guint64 kAppsrcPackets = 4;
constexpr const char* kOwnerKey = "gopmill-playback";

}  // namespace

// What the stream writes to.
class Playback::Sink final : public StreamSink, public PacketSink {
 public:
  Sink(std::shared_ptr<Playback> playback, std::int64_t generation, std::int64_t start_ns)
      : playback_(std::move(playback)), generation_(generation), start_ns_(start_ns) {}
  ~Sink() override {
    playback_->queue_.End(generation_, InternalError("The stream ended without a reason."));
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  PacketSink* packets() override { return this; }
  Status Start(const StreamStart& start) override {
    seconds_ = start.seconds;
    return OkStatus();
  }
  Status OnTracks(std::vector<CodedTrack> tracks) override {
    return playback_->queue_.SetStream(generation_, {std::move(tracks), seconds_});
  }
  Status Write(std::span<const std::uint8_t>) override { return OkStatus(); }
  Status WritePacket(const CodedPacket& packet) override {
    // An encoder's priming: a player decodes it to nothing.
    if (packet.pts_ns < 0) return OkStatus();
    CodedPacket placed = packet;
    const std::int64_t shift = Shift(packet);
    placed.pts_ns += start_ns_ - shift;
    placed.dts_ns += start_ns_ - shift;
    return playback_->queue_.Push(generation_, placed);
  }
  void Finish(const StreamEnd& end) override { playback_->queue_.End(generation_, end.status); }
  void Cancel() noexcept override { playback_->queue_.End(generation_, Cancelled()); }

 private:
  std::int64_t Shift(const CodedPacket& packet) {
    const std::int64_t began_ns = playback_->began_ns_;
    if (!playback_->live_ || began_ns == 0) return 0;
    const std::int64_t now_ns = SteadyNow().time_since_epoch() / std::chrono::nanoseconds(1);
    return pace_.Follow(packet.dts_ns, now_ns - began_ns);
  }

  const std::shared_ptr<Playback> playback_;
  const std::int64_t generation_, start_ns_;
  double seconds_ = 0;
  PaceFollower pace_;
};

// What comes behind the appsrc of one track, whose pad owns this. The library unblocks all tracks
// at PLAY, also those without a SETUP, which lead nowhere: their "not linked" would be an error of
// the whole media, and one that comes early keeps the other tracks from playing.
struct NextElement {
  std::weak_ptr<Playback> playback;
  std::size_t track;
  GstPadChainFunction chain;
  static constexpr const char* kKey = "gopmill-next";

  static GstFlowReturn Chain(GstPad* pad, GstObject* parent, GstBuffer* buffer) noexcept {
    const auto& self = *static_cast<NextElement*>(g_object_get_data(G_OBJECT(pad), kKey));
    if (IsGap(*buffer)) {
      self.OnNothing(pad, *buffer);
      gst_buffer_unref(buffer);
      return GST_FLOW_OK;
    }
    const GstFlowReturn flow = self.chain(pad, parent, buffer);
    if (flow != GST_FLOW_NOT_LINKED) return flow;
    if (const auto owner = self.playback.lock()) owner->OnNotTaken(self.track);
    return GST_FLOW_OK;
  }
  void OnNothing(GstPad* pad, GstBuffer& buffer) const {
    if (!IsMarker(buffer)) {
      gst_pad_send_event(pad, gst_event_new_gap(GST_BUFFER_PTS(&buffer), GST_CLOCK_TIME_NONE));
    } else if (const auto owner = playback.lock()) {
      owner->OnMarker(track);
    }
  }
  static void Destroy(gpointer self) noexcept { delete static_cast<NextElement*>(self); }
};

// User data of the callbacks of one appsrc, owned by it.
struct AppsrcCallbacks {
  std::weak_ptr<Playback> playback;
  std::size_t track;

  static void OnNeedData(GstAppSrc* /*source*/, guint /*bytes*/, gpointer self) noexcept {
    const auto& callbacks = *static_cast<AppsrcCallbacks*>(self);
    if (const auto playback = callbacks.playback.lock()) playback->OnNeedData(callbacks.track);
  }
  static gboolean OnSeekData(GstAppSrc* /*source*/, guint64 offset, gpointer self) noexcept {
    const auto& callbacks = *static_cast<AppsrcCallbacks*>(self);
    const auto playback = callbacks.playback.lock();
    if (playback == nullptr) return FALSE;
    playback->Seek(callbacks.track, static_cast<std::int64_t>(offset));
    return TRUE;
  }
  static void Destroy(gpointer self) noexcept { delete static_cast<AppsrcCallbacks*>(self); }
};

Playback::Playback(Service& service, RtspRequest request)
    : service_(service),
      request_(std::move(request)),
      live_(request_.path.starts_with(kLivePrefix)),
      queue_([this](std::size_t track) { Feed(track); }) {}

Playback::~Playback() { Close(); }

Result<std::shared_ptr<Playback>> Playback::Open(Service& service, RtspRequest request,
                                                 const std::stop_token& stop) {
  const std::shared_ptr<Playback> self(new Playback(service, std::move(request)));
  std::shared_ptr<Playback> player(self.get(), [self](Playback* playback) { playback->Close(); });
  const std::stop_callback end_wait(stop, [&self] { self->queue_.Abandon(); });
  GOPMILL_RETURN_IF_ERROR(self->Begin(0));
  GOPMILL_ASSIGN_OR_RETURN(self->stream_,
                           self->queue_.AwaitStream(self->live_ ? kLiveOpenTimeout : kOpenTimeout));
  for (std::size_t i = 0; i < self->stream_.tracks.size(); ++i) {
    GOPMILL_ASSIGN_OR_RETURN(std::string branch, BranchOf(self->stream_.tracks[i], i));
    self->branches_.push_back(std::move(branch));
  }
  if (stop.stop_requested()) return ShuttingDown();  // the queue brings nothing any more
  return player;
}

// Opens a stream from `start_ns` on, in place of the one that runs.
Status Playback::Begin(std::int64_t start_ns) {
  std::optional<StreamId> before;
  {
    const MutexLock lock(mutex_);
    before = std::exchange(stream_id_, std::nullopt);
  }
  RequestParams params = ParamsAt(request_.params, start_ns);
  params.emplace_back("container", PacketContainer(request_.params));
  // What the stream before still sends is refused from then on, which ends it.
  const auto make_sink = [&]() -> std::unique_ptr<StreamSink> {
    return std::make_unique<Sink>(shared_from_this(), queue_.Restart(), start_ns);
  };
  GOPMILL_ASSIGN_OR_RETURN(
      const StreamId id, before ? service_.ReplaceStream(*before, request_.path, params, make_sink)
                                : service_.OpenStream(request_.path, params, make_sink()));
  bool closed = false;
  {
    const MutexLock lock(mutex_);
    stream_id_ = id;
    closed = closed_;
  }
  if (closed) static_cast<void>(service_.CancelStream(id));
  return OkStatus();
}

// A stream that cannot be opened again fails and does not refuse the seek: one track that seeks
// beside one that does not has the library end the process (movie_media.h).
void Playback::Seek(std::size_t track, std::int64_t start_ns) {
  {
    const MutexLock lock(tracks_[track].mutex);
    tracks_[track].feeding = false;
    tracks_[track].fed = false;
    tracks_[track].course = Course::kFed;
  }
  {
    const MutexLock lock(mutex_);
    const bool join = start_ns_ == start_ns && !joined_[track];
    if (!join) joined_.fill(false);
    joined_[track] = true;
    start_ns_ = start_ns;
    if (join) return;
  }
  // The other track's own seek, which follows, flushes what it would be fed until then.
  for (Track& each : tracks_) {
    const MutexLock lock(each.mutex);
    each.feeding = each.fed = false;
  }
  const Status status = Begin(start_ns);
  if (status.ok()) return;
  spdlog::warn("rtsp: no stream at {:.3f} s: {}", static_cast<double>(start_ns) / 1e9,
               status.error().ToString());
  queue_.End(queue_.Restart(), status);
}

void Playback::Close() {
  queue_.Abandon();
  std::optional<StreamId> id;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    id = std::exchange(stream_id_, std::nullopt);
  }
  if (id) static_cast<void>(service_.CancelStream(*id));
  for (Track& track : tracks_) {
    gst::Object<GstAppSrc> source;  // let go of without the lock
    const MutexLock lock(track.mutex);
    source = std::move(track.source);
    track.feeding = false;
  }
}

Result<GstElement*> Playback::MakeBin(const std::shared_ptr<Playback>& player) {
  const std::string description = fmt::format("( {} )", fmt::join(player->branches_, " "));
  GError* error = nullptr;
  GstElement* bin =
      gst_parse_launch_full(description.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (bin == nullptr) {
    spdlog::error("rtsp: {}: {}", description, error->message);
    g_error_free(error);
    return InternalError("The RTSP pipeline could not be made.");
  }
  for (std::size_t i = 0; i < player->stream_.tracks.size(); ++i) {
    GstElement* source = gst_bin_get_by_name(GST_BIN(bin), fmt::format("src{}", i).c_str());
    const CodedTrack& track = player->stream_.tracks[i];
    player->SetUp(i, track, gst::Adopt(GST_APP_SRC(source)));
    const std::string name = fmt::format("pay{}", i);
    const auto payloader = gst::Adopt(gst_bin_get_by_name(GST_BIN(bin), name.c_str()));
    KeepRtpTime(*payloader);
    DelayEnd(*payloader);
    if (track.codec == "vp9") TellSize(*payloader, track.width, track.height);
  }
  g_object_set_data_full(
      G_OBJECT(bin), kOwnerKey, new std::shared_ptr<Playback>(player),
      [](gpointer owner) noexcept { delete static_cast<std::shared_ptr<Playback>*>(owner); });
  return bin;
}

bool Playback::Ended(GstElement& bin) {
  auto* owner =
      static_cast<std::shared_ptr<Playback>*>(g_object_get_data(G_OBJECT(&bin), kOwnerKey));
  return (*owner)->queue_.ended();
}

bool Playback::Failed(GstElement& bin) {
  auto* owner =
      static_cast<std::shared_ptr<Playback>*>(g_object_get_data(G_OBJECT(&bin), kOwnerKey));
  return owner != nullptr && (*owner)->failed();
}

// A track that is played out waits for the others.
bool Playback::failed() {
  bool any = false;
  for (std::size_t i = 0; i < stream_.tracks.size(); ++i) {
    const MutexLock lock(tracks_[i].mutex);
    const Course course = tracks_[i].course;
    if (course == Course::kFed || course == Course::kFailing) return false;
    any = any || course == Course::kFailed;
  }
  return any;
}

double Playback::SecondsOf(GstElement& bin) {
  auto* owner =
      static_cast<std::shared_ptr<Playback>*>(g_object_get_data(G_OBJECT(&bin), kOwnerKey));
  return owner == nullptr || (*owner)->live_ ? 0 : (*owner)->stream_.seconds;
}

void Playback::SetUp(std::size_t index, const CodedTrack& coded, gst::Object<GstAppSrc> source) {
  GstCaps* caps = CapsOf(coded);
  gst_app_src_set_caps(source.get(), caps);
  gst_caps_unref(caps);
  g_object_set(source.get(), "format", GST_FORMAT_TIME, "block", FALSE, "max-bytes", guint64{0},
               "max-buffers", kAppsrcPackets, nullptr);
  gst_app_src_set_stream_type(source.get(),
                              live_ ? GST_APP_STREAM_TYPE_STREAM : GST_APP_STREAM_TYPE_SEEKABLE);
  g_object_set(source.get(), "is-live", live_ ? TRUE : FALSE, nullptr);
  if (stream_.seconds > 0) {
    gst_app_src_set_duration(source.get(), static_cast<GstClockTime>(stream_.seconds * 1e9));
  }
  GstAppSrcCallbacks callbacks{};
  callbacks.need_data = &AppsrcCallbacks::OnNeedData;
  if (!live_) callbacks.seek_data = &AppsrcCallbacks::OnSeekData;
  gst_app_src_set_callbacks(source.get(), &callbacks, new AppsrcCallbacks{weak_from_this(), index},
                            &AppsrcCallbacks::Destroy);
  const auto pad = gst::Adopt(gst_element_get_static_pad(GST_ELEMENT(source.get()), "src"));
  const auto next = gst::Adopt(gst_pad_get_peer(pad.get()));
  g_object_set_data_full(G_OBJECT(next.get()), NextElement::kKey,
                         new NextElement{weak_from_this(), index, GST_PAD_CHAINFUNC(next.get())},
                         &NextElement::Destroy);
  gst_pad_set_chain_function(next.get(), &NextElement::Chain);
  const MutexLock lock(tracks_[index].mutex);
  tracks_[index].source = std::move(source);
}

// Nobody has set the track up. Of a movie nobody will before a seek; of a live source, which all
// its players share, the next one may.
void Playback::OnNotTaken(std::size_t index) {
  if (live_) return;
  const MutexLock lock(tracks_[index].mutex);
  if (tracks_[index].course == Course::kFed) tracks_[index].course = Course::kEnded;
}

void Playback::OnMarker(std::size_t index) {
  const MutexLock lock(tracks_[index].mutex);
  if (tracks_[index].course == Course::kFailing) tracks_[index].course = Course::kFailed;
}

void Playback::OnNeedData(std::size_t index) {
  Track& track = tracks_[index];
  const MutexLock lock(track.mutex);
  track.feeding = true;
  FeedLocked(track, index);
}

void Playback::Feed(std::size_t index) {
  Track& track = tracks_[index];
  const MutexLock lock(track.mutex);
  FeedLocked(track, index);
}

void Playback::FeedLocked(Track& track, std::size_t index) {
  if (live_ && track.source != nullptr && GST_STATE(track.source.get()) == GST_STATE_PLAYING) {
    began_ns_ =
        static_cast<std::int64_t>(gst_element_get_base_time(GST_ELEMENT(track.source.get())));
  }
  while (track.feeding && track.course == Course::kFed && track.source != nullptr &&
         gst_app_src_get_current_level_buffers(track.source.get()) < kAppsrcPackets) {
    QueuedPacket packet;
    switch (queue_.Pop(index, packet)) {
      case PacketQueue::State::kPacket:
        // Refused while the pipeline flushes or stops: the packet is not wanted then.
        static_cast<void>(gst_app_src_push_buffer(track.source.get(), MakeBuffer(packet)));
        track.fed = true;
        break;
      case PacketQueue::State::kEmpty: return;
      case PacketQueue::State::kEnd: return EndLocked(track);
      case PacketQueue::State::kFailed: return FailLocked(track);
    }
  }
}

// A seek waits for something of the track.
void Playback::FillPlace(Track& track) {
  if (track.fed || live_) return;
  const std::int64_t place = start_ns();
  static_cast<void>(gst_app_src_push_buffer(track.source.get(), MakeGap(place)));
}

void Playback::EndLocked(Track& track) {
  track.course = Course::kEnded;
  FillPlace(track);
  static_cast<void>(gst_app_src_end_of_stream(track.source.get()));
}

// Without an end, which would go out as BYE: the sweep closes the connections of its players.
void Playback::FailLocked(Track& track) {
  track.course = Course::kFailing;
  FillPlace(track);
  static_cast<void>(gst_app_src_push_buffer(track.source.get(), MakeMarker()));
}

std::int64_t Playback::start_ns() {
  const MutexLock lock(mutex_);
  return start_ns_;
}

}  // namespace gopmill
