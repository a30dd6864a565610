// SPDX-License-Identifier: Apache-2.0
#include "media/packet_feed.h"

#include <algorithm>
#include <utility>

#include "media/coded_probe.h"
#include "media/decode_times.h"
#include "media/subtitle_track.h"

namespace gopmill {
namespace {

// How late a reader that waits notices that it was stopped.
constexpr std::chrono::milliseconds kStopInterval{50};

// Sound that begins this much before the first picture goes with it: an encoder's priming.
constexpr std::chrono::nanoseconds kEarlySound = std::chrono::milliseconds(100);

// Time between two packets counts as one without pictures up to this: more is a machine that has
// been asleep.
constexpr std::chrono::seconds kLongestStep(1);

Error NoPictureCame() {
  return {.code = Code::kDeadlineExceeded,
          .message = "The publisher has sent sound and no picture for long."};
}

Error NothingCame() {
  return {.code = Code::kDeadlineExceeded, .message = "The publisher has sent nothing for long."};
}

}  // namespace

// Packets that the probe has looked at come first.
class PacketFeed::Source final : public PacketSource {
 public:
  Source(std::shared_ptr<PacketFeed> feed, std::stop_token stop)
      : feed_(std::move(feed)), stop_(std::move(stop)), sounds_(feed_->announced_.size()) {}
  ~Source() override { feed_->Abandon(); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Status Begin();

  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return start_us_; }
  bool live() const override { return true; }
  bool truncated() const override { return false; }
  std::int64_t lost() const override { return feed_->lost(); }
  Status SeekBefore(Rational /*seconds*/) override {
    return InvalidArgument("start", "A live source cannot be sought in.", "no start");
  }
  Result<ReadState> Read(AVPacket& packet) override;

 private:
  struct Sound {                           // a track of it, by its number in the feed
    std::optional<AudioInfo> info;         // once it is known
    std::size_t number = 0;                // among those of SourceInfo
    std::size_t probed = 0;                // packets
    std::optional<std::int64_t> end = {};  // of the packet before
  };
  Result<std::optional<Entry>> Pop(Duration patience);
  Status Collect(std::optional<VideoProbe>& video);
  Status Take(Entry entry, std::optional<VideoProbe>& video);
  void TakeSound(Entry entry);
  [[nodiscard]] bool AllSoundsKnown() const;
  [[nodiscard]] bool Complete(const std::optional<VideoProbe>& video, TimePoint since) const;
  void ListSounds(SourceInfo& info);
  void BeginWithPicture();
  void Place(const Entry& entry, AVPacket& out);
  static void PlaceSound(Sound& sound, AVPacket& out);

  const std::shared_ptr<PacketFeed> feed_;
  const std::stop_token stop_;
  std::vector<Sound> sounds_;  // by track of the feed; nothing in that of the pictures
  std::shared_ptr<const SourceInfo> info_;
  std::deque<Entry> probed_;
  std::size_t pictures_ = 0;  // in it
  std::size_t picture_bytes_ = 0, probed_sound_ = 0;
  std::optional<DecodeTimes> decode_times_;
  std::int64_t start_us_ = 0;
  TimePoint popped_ = SteadyNow();  // a packet of any track
  Duration unseen_{};               // without one of pictures, so far
};

// A track of pictures may stop for good while its sound goes on, such as one whose sender goes on
// under another SSRC. Who publishes it is told by the end, and can come again.
Result<std::optional<PacketFeed::Entry>> PacketFeed::Source::Pop(Duration patience) {
  GOPMILL_ASSIGN_OR_RETURN(auto entry, feed_->Pop(stop_, patience));
  if (!entry) return entry;
  const TimePoint before = std::exchange(popped_, SteadyNow());
  unseen_ += std::min<Duration>(popped_ - before, kLongestStep);
  if (feed_->IsVideo(entry->track)) unseen_ = {};
  if (unseen_ > feed_->silence_) return NoPictureCame();
  return entry;
}

Status PacketFeed::Source::Begin() {
  auto info = std::make_shared<SourceInfo>();
  info->container = "rtp";
  info->unusable_audio = feed_->unusable_audio_;
  std::optional<VideoProbe> video;
  GOPMILL_RETURN_IF_ERROR(Collect(video));
  if (!video) {
    return Error{.code = Code::kCorrupt, .message = "The stream has no key frame."};
  }
  GOPMILL_ASSIGN_OR_RETURN(info->video, video->Info());
  const std::int64_t frame =
      std::max<std::int64_t>(1, Rescale(1, info->video.fps.Inverse(), kCodedVideoBase));
  decode_times_.emplace(info->video.parameters->video_delay, frame);
  ListSounds(*info);
  BeginWithPicture();
  std::int64_t first = INT64_MAX;
  for (const Entry& entry : probed_) {
    if (entry.pts_ns >= 0) first = std::min(first, entry.pts_ns);
  }
  start_us_ = first == INT64_MAX ? 0 : first / 1000;
  info_ = std::move(info);
  return OkStatus();
}

// The order is that of the announcement, whatever came first.
void PacketFeed::Source::ListSounds(SourceInfo& info) {
  for (Sound& sound : sounds_) {
    if (!sound.info) continue;
    sound.number = info.audio_tracks.size();
    info.audio_tracks.push_back(*sound.info);
  }
  if (info.audio_tracks.empty()) return;
  info.audio = info.audio_tracks.front();
  info.more_audio.assign(info.audio_tracks.begin() + 1, info.audio_tracks.end());
}

// Readers begin with a key frame: sound that belongs to the first one shall not be in front of it.
void PacketFeed::Source::BeginWithPicture() {
  const auto is_picture = [this](const Entry& entry) { return feed_->IsVideo(entry.track); };
  const auto picture = std::ranges::find_if(probed_, is_picture);
  if (picture == probed_.end()) return;
  const std::int64_t earliest = picture->pts_ns - kEarlySound.count();
  std::rotate(probed_.begin(), picture, picture + 1);
  std::erase_if(probed_, [&](const Entry& entry) {
    return !is_picture(entry) && entry.pts_ns >= 0 && entry.pts_ns < earliest;
  });
}

// Until all tracks are known, or it is certain that they will not be.
Status PacketFeed::Source::Collect(std::optional<VideoProbe>& video) {
  TimePoint since = SteadyNow();
  const auto may_take = [this] {
    return pictures_ < kFeedProbePictures && picture_bytes_ < kFeedProbeBytes;
  };
  while (may_take() && !Complete(video, since)) {
    const bool known = video && video->ready();  // then it is the sound that is waited for
    const bool usable = video && video->usable();
    auto popped = Pop(known ? kSoundPatience : usable ? kRatePatience : feed_->silence_);
    const bool late = !popped.ok() && popped.error().code == Code::kDeadlineExceeded;
    if (late && known) return OkStatus();
    if (late && usable) {
      video->Settle();
      continue;
    }
    GOPMILL_ASSIGN_OR_RETURN(auto entry, std::move(popped));
    if (!entry) return OkStatus();
    GOPMILL_RETURN_IF_ERROR(Take(std::move(*entry), video));
    if (!known) since = SteadyNow();
  }
  return OkStatus();
}

Status PacketFeed::Source::Take(Entry entry, std::optional<VideoProbe>& video) {
  const auto track = feed_->coded(entry.track);
  if (!track) return OkStatus();  // nobody can say what it is
  if (!feed_->IsVideo(entry.track)) {
    TakeSound(std::move(entry));
    return OkStatus();
  }
  if (!video && (entry.packet->flags & AV_PKT_FLAG_KEY) == 0) return OkStatus();
  if (!video) {
    GOPMILL_ASSIGN_OR_RETURN(video, VideoProbe::Open(*track));
  }
  if (entry.pts_ns >= 0) video->Push(*entry.packet, entry.pts_ns);
  ++pictures_;
  picture_bytes_ += static_cast<std::size_t>(entry.packet->size);
  probed_.push_back(std::move(entry));
  return OkStatus();
}

void PacketFeed::Source::TakeSound(Entry entry) {
  std::optional<AudioInfo>& info = sounds_[entry.track].info;
  if (!info) {
    auto audio = ProbeAudio(*feed_->coded(entry.track), *entry.packet);
    // Sound of a codec we do not take is left out, not fatal: as in a file.
    if (!audio.ok()) return;
    info = std::move(audio).value();
    info->stream_index = static_cast<int>(entry.track);
    info->language = LanguageText(feed_->announced_[entry.track].language);
    info->title = TagText(feed_->announced_[entry.track].title);
  }
  const auto bytes = static_cast<std::size_t>(entry.packet->size);
  if (probed_sound_ + bytes > kFeedBytes || ++sounds_[entry.track].probed > kFeedProbeSounds)
    return;
  probed_sound_ += bytes;
  probed_.push_back(std::move(entry));
}

bool PacketFeed::Source::AllSoundsKnown() const {
  for (std::size_t track = 0; track < sounds_.size(); ++track) {
    if (!feed_->IsVideo(track) && !sounds_[track].info) return false;
  }
  return true;
}

bool PacketFeed::Source::Complete(const std::optional<VideoProbe>& video, TimePoint since) const {
  if (!video || !video->ready()) return false;
  return AllSoundsKnown() || SteadyNow() - since > kSoundPatience;
}

void PacketFeed::Source::Place(const Entry& entry, AVPacket& out) {
  const bool video = feed_->IsVideo(entry.track);
  Sound& sound = sounds_[entry.track];
  const Rational base = video ? info_->video.time_base : sound.info->time_base;
  out.pts = entry.pts_ns < 0 ? AV_NOPTS_VALUE : Rescale(entry.pts_ns, kNanos, base);
  out.duration = Rescale(entry.duration_ns, kNanos, base);
  if (!video) return PlaceSound(sound, out);
  out.dts = out.pts == AV_NOPTS_VALUE ? out.pts : decode_times_->Next(out.pts);
}

// Several frames of sound may have come under one time, which the first of them has.
void PacketFeed::Source::PlaceSound(Sound& sound, AVPacket& out) {
  out.stream_index = static_cast<int>(sound.number);
  if (out.pts == AV_NOPTS_VALUE && sound.end) out.pts = *sound.end;
  out.dts = out.pts;
  if (out.duration <= 0) {
    AVCodecParameters parameters = *sound.info->parameters;  // FFmpeg takes it as not const
    out.duration = av_get_audio_frame_duration2(&parameters, out.size);
  }
  sound.end.reset();
  if (out.pts != AV_NOPTS_VALUE && out.duration > 0) sound.end = out.pts + out.duration;
}

Result<PacketSource::ReadState> PacketFeed::Source::Read(AVPacket& packet) {
  while (true) {
    std::optional<Entry> entry;
    if (!probed_.empty()) {
      entry = std::move(probed_.front());
      probed_.pop_front();
    } else {
      GOPMILL_ASSIGN_OR_RETURN(entry, Pop(feed_->silence_));
    }
    if (!entry) return ReadState::kEnd;
    const bool video = feed_->IsVideo(entry->track);
    if (!video && !sounds_[entry->track].info) continue;  // it came too late to be a track
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

void PacketFeed::SetTrack(std::size_t track, CodedTrack coded) {
  GOPMILL_CHECK(track < announced_.size() && coded.kind == announced_[track].kind);
  const MutexLock lock(mutex_);
  auto& known = tracks_[track];
  if (!known) known = std::move(coded);
}

Status PacketFeed::Push(const CodedPacket& packet) {
  GOPMILL_CHECK(packet.track < announced_.size());
  Entry entry{.track = packet.track,
              .pts_ns = packet.pts_ns,
              .duration_ns = packet.duration_ns,
              .packet = av::NewPacket(packet.bytes)};
  if (packet.key) entry.packet->flags |= AV_PKT_FLAG_KEY;
  {
    const MutexLock lock(mutex_);
    while (!abandoned_ && !ended_ && bytes_ > kFeedBytes) changed_.Wait(mutex_);
    if (abandoned_ || ended_)
      return Error{.code = Code::kCancelled, .message = "Nobody reads this."};
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

std::optional<CodedTrack> PacketFeed::coded(std::size_t track) const {
  const MutexLock lock(mutex_);
  return tracks_[track];
}

// The next packet; nothing at the end.
Result<std::optional<PacketFeed::Entry>> PacketFeed::Pop(const std::stop_token& stop,
                                                         Duration patience) {
  std::optional<Entry> entry;
  {
    const MutexLock lock(mutex_);
    const TimePoint deadline = SteadyNow() + patience;
    while (entries_.empty() && !ended_) {
      if (stop.stop_requested()) return Cancelled();
      if (SteadyNow() > deadline) return NothingCame();
      changed_.WaitFor(mutex_, kStopInterval);
    }
    if (stop.stop_requested()) return Cancelled();
    if (entries_.empty()) return entry;
    entry = std::move(entries_.front());
    entries_.pop_front();
    bytes_ -= static_cast<std::size_t>(entry->packet->size);
  }
  changed_.NotifyAll();
  return entry;
}

}  // namespace gopmill
