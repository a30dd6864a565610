// SPDX-License-Identifier: Apache-2.0
#include "media/packet_feed.h"

#include <algorithm>
#include <utility>

#include "media/coded_probe.h"
#include "media/decode_times.h"

namespace gopmill {
namespace {

// How late a reader that waits notices that it was stopped.
constexpr std::chrono::milliseconds kStopInterval{50};

// Sound that begins this much before the first picture goes with it: an encoder's priming.
constexpr std::chrono::nanoseconds kEarlySound = std::chrono::milliseconds(100);

std::size_t IndexOf(TrackKind kind) { return kind == TrackKind::kVideo ? 0 : 1; }

Error NothingCame() {
  return {.code = Code::kDeadlineExceeded, .message = "The publisher has sent nothing for long."};
}

}  // namespace

// Packets that the probe has looked at come first.
class PacketFeed::Source final : public PacketSource {
 public:
  Source(std::shared_ptr<PacketFeed> feed, std::stop_token stop)
      : feed_(std::move(feed)), stop_(std::move(stop)) {}
  ~Source() override { feed_->Abandon(); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Status Begin();

  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return start_us_; }
  bool live() const override { return true; }
  bool truncated() const override { return false; }
  std::int64_t lost() const override { return feed_->lost_; }
  Status SeekBefore(Rational /*seconds*/) override {
    return InvalidArgument("start", "A live source cannot be sought in.", "no start");
  }
  Result<ReadState> Read(AVPacket& packet) override;

 private:
  Status Collect(std::optional<VideoProbe>& video, std::shared_ptr<SourceInfo>& info);
  Status Take(Entry entry, std::optional<VideoProbe>& video, std::shared_ptr<SourceInfo>& info);
  [[nodiscard]] bool Complete(const std::optional<VideoProbe>& video, const SourceInfo& info,
                              TimePoint since) const;
  void BeginWithPicture();
  void Place(const Entry& entry, AVPacket& out);
  void PlaceSound(AVPacket& out);

  const std::shared_ptr<PacketFeed> feed_;
  const std::stop_token stop_;
  std::shared_ptr<const SourceInfo> info_;
  std::deque<Entry> probed_;
  std::size_t pictures_ = 0;  // in it
  std::optional<DecodeTimes> decode_times_;
  std::optional<std::int64_t> sound_end_;  // of the packet before
  std::int64_t start_us_ = 0;
};

Status PacketFeed::Source::Begin() {
  auto info = std::make_shared<SourceInfo>();
  info->container = "rtp";
  std::optional<VideoProbe> video;
  GOPMILL_RETURN_IF_ERROR(Collect(video, info));
  if (!video) {
    return Error{.code = Code::kCorrupt, .message = "The stream has no key frame."};
  }
  GOPMILL_ASSIGN_OR_RETURN(info->video, video->Info());
  const std::int64_t frame =
      std::max<std::int64_t>(1, Rescale(1, info->video.fps.Inverse(), kCodedVideoBase));
  decode_times_.emplace(info->video.parameters->video_delay, frame);
  BeginWithPicture();
  std::int64_t first = INT64_MAX;
  for (const Entry& entry : probed_) {
    if (entry.pts_ns >= 0) first = std::min(first, entry.pts_ns);
  }
  start_us_ = first == INT64_MAX ? 0 : first / 1000;
  info_ = std::move(info);
  return OkStatus();
}

// Readers begin with a key frame: sound that belongs to the first one shall not be in front of it.
void PacketFeed::Source::BeginWithPicture() {
  const auto picture =
      std::ranges::find(probed_, TrackKind::kVideo, [](const Entry& entry) { return entry.kind; });
  if (picture == probed_.end()) return;
  const std::int64_t earliest = picture->pts_ns - kEarlySound.count();
  std::rotate(probed_.begin(), picture, picture + 1);
  std::erase_if(probed_, [earliest](const Entry& entry) {
    return entry.kind == TrackKind::kAudio && entry.pts_ns >= 0 && entry.pts_ns < earliest;
  });
}

// Until both tracks are known, or it is certain that they will not be.
Status PacketFeed::Source::Collect(std::optional<VideoProbe>& video,
                                   std::shared_ptr<SourceInfo>& info) {
  TimePoint since = SteadyNow();
  while (pictures_ < kFeedProbePictures && !Complete(video, *info, since)) {
    const bool known = video && video->ready();  // then it is the sound that is waited for
    auto popped = feed_->Pop(stop_, known ? kSoundPatience : feed_->silence_);
    if (!popped.ok() && known && popped.error().code == Code::kDeadlineExceeded) return OkStatus();
    GOPMILL_ASSIGN_OR_RETURN(auto entry, std::move(popped));
    if (!entry) return OkStatus();
    GOPMILL_RETURN_IF_ERROR(Take(std::move(*entry), video, info));
    if (!known) since = SteadyNow();
  }
  return OkStatus();
}

Status PacketFeed::Source::Take(Entry entry, std::optional<VideoProbe>& video,
                                std::shared_ptr<SourceInfo>& info) {
  const auto track = feed_->track(entry.kind);
  if (!track) return OkStatus();  // nobody can say what it is
  if (entry.kind == TrackKind::kAudio) {
    if (!info->audio) {
      auto audio = ProbeAudio(*track, *entry.packet);
      // Sound of a codec we do not take is left out, not fatal: as in a file.
      if (!audio.ok()) return OkStatus();
      info->audio = std::move(audio).value();
    }
    if (probed_.size() < 4 * kFeedProbePictures) probed_.push_back(std::move(entry));
    return OkStatus();
  }
  if (!video && (entry.packet->flags & AV_PKT_FLAG_KEY) == 0) return OkStatus();
  if (!video) {
    GOPMILL_ASSIGN_OR_RETURN(video, VideoProbe::Open(*track));
  }
  if (entry.pts_ns >= 0) video->Push(*entry.packet, entry.pts_ns);
  ++pictures_;
  probed_.push_back(std::move(entry));
  return OkStatus();
}

bool PacketFeed::Source::Complete(const std::optional<VideoProbe>& video, const SourceInfo& info,
                                  TimePoint since) const {
  if (!video || !video->ready()) return false;
  return !feed_->sound_ || info.audio || SteadyNow() - since > kSoundPatience;
}

void PacketFeed::Source::Place(const Entry& entry, AVPacket& out) {
  const bool video = entry.kind == TrackKind::kVideo;
  const Rational base = video ? info_->video.time_base : info_->audio->time_base;
  out.pts = entry.pts_ns < 0 ? AV_NOPTS_VALUE : Rescale(entry.pts_ns, kNanos, base);
  out.duration = Rescale(entry.duration_ns, kNanos, base);
  if (!video) return PlaceSound(out);
  out.dts = out.pts == AV_NOPTS_VALUE ? out.pts : decode_times_->Next(out.pts);
}

// Several frames of sound may have come under one time, which the first of them has.
void PacketFeed::Source::PlaceSound(AVPacket& out) {
  if (out.pts == AV_NOPTS_VALUE && sound_end_) out.pts = *sound_end_;
  out.dts = out.pts;
  if (out.duration <= 0) {
    AVCodecParameters parameters = *info_->audio->parameters;  // FFmpeg takes it as not const
    out.duration = av_get_audio_frame_duration2(&parameters, out.size);
  }
  sound_end_.reset();
  if (out.pts != AV_NOPTS_VALUE && out.duration > 0) sound_end_ = out.pts + out.duration;
}

Result<PacketSource::ReadState> PacketFeed::Source::Read(AVPacket& packet) {
  while (true) {
    std::optional<Entry> entry;
    if (!probed_.empty()) {
      entry = std::move(probed_.front());
      probed_.pop_front();
    } else {
      GOPMILL_ASSIGN_OR_RETURN(entry, feed_->Pop(stop_, feed_->silence_));
    }
    if (!entry) return ReadState::kEnd;
    const bool video = entry->kind == TrackKind::kVideo;
    if (!video && !info_->audio) continue;  // it came too late to be a track
    av_packet_move_ref(&packet, entry->packet.get());
    Place(*entry, packet);
    return video ? ReadState::kVideo : ReadState::kAudio;
  }
}

Result<std::unique_ptr<PacketSource>> PacketFeed::Open(std::shared_ptr<PacketFeed> feed,
                                                       std::stop_token stop) {
  auto source = std::make_unique<Source>(std::move(feed), std::move(stop));
  GOPMILL_RETURN_IF_ERROR(source->Begin());
  return std::unique_ptr<PacketSource>(std::move(source));
}

void PacketFeed::SetTrack(CodedTrack track) {
  const MutexLock lock(mutex_);
  auto& known = tracks_[IndexOf(track.kind)];
  if (!known) known = std::move(track);
}

Status PacketFeed::Push(TrackKind kind, const CodedPacket& packet) {
  Entry entry{.kind = kind,
              .pts_ns = packet.pts_ns,
              .duration_ns = packet.duration_ns,
              .packet = av::NewPacket(packet.bytes)};
  if (packet.key) entry.packet->flags |= AV_PKT_FLAG_KEY;
  {
    const MutexLock lock(mutex_);
    while (!abandoned_ && bytes_ > kFeedBytes) changed_.Wait(mutex_);
    if (abandoned_) return Error{.code = Code::kCancelled, .message = "Nobody reads this."};
    bytes_ += packet.bytes.size();
    entries_.push_back(std::move(entry));
  }
  changed_.NotifyAll();
  return OkStatus();
}

void PacketFeed::End() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
}

void PacketFeed::Abandon() {
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
  }
  changed_.NotifyAll();
}

bool PacketFeed::abandoned() const {
  const MutexLock lock(mutex_);
  return abandoned_;
}

std::optional<CodedTrack> PacketFeed::track(TrackKind kind) const {
  const MutexLock lock(mutex_);
  return tracks_[IndexOf(kind)];
}

// The next packet; nothing at the end.
Result<std::optional<PacketFeed::Entry>> PacketFeed::Pop(const std::stop_token& stop,
                                                         Duration patience) {
  std::optional<Entry> entry;
  {
    const MutexLock lock(mutex_);
    const TimePoint deadline = SteadyNow() + patience;
    while (entries_.empty() && !ended_) {
      if (stop.stop_requested()) return Error{.code = Code::kCancelled, .message = "Cancelled."};
      if (SteadyNow() > deadline) return NothingCame();
      changed_.WaitFor(mutex_, kStopInterval);
    }
    if (stop.stop_requested()) return Error{.code = Code::kCancelled, .message = "Cancelled."};
    if (entries_.empty()) return entry;
    entry = std::move(entries_.front());
    entries_.pop_front();
    bytes_ -= static_cast<std::size_t>(entry->packet->size);
  }
  changed_.NotifyAll();
  return entry;
}

}  // namespace gopmill
