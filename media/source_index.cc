// SPDX-License-Identifier: Apache-2.0
#include "media/source_index.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "media/audio_timeline.h"
#include "media/packet_samples.h"

namespace gopmill {
namespace {

// The longest gap in the sound that is believed when the source's length is not known.
constexpr Rational kLongestGap{3600, 1};
// Bytes of a packet's two ends that go into its fingerprint.
constexpr std::size_t kFingerprintBytes = 256;
constexpr std::int64_t kLargestFile = std::int64_t{1} << 44;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}

std::uint64_t MixBytes(std::uint64_t hash, const std::uint8_t* data, std::size_t count) {
  while (count >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, sizeof word);
    hash = Mix(hash, word);
    data += sizeof word;
    count -= sizeof word;
  }
  for (std::size_t i = 0; i < count; ++i) hash = Mix(hash, data[i]);
  return hash;
}

std::uint64_t PayloadHash(const AVPacket& packet) {
  const auto size = static_cast<std::size_t>(std::max(packet.size, 0));
  std::uint64_t hash = Mix(0, size);
  if (av::IsHidden(packet)) hash = Mix(hash, 1);  // an edit list may show it elsewhere
  const std::size_t head = std::min(size, kFingerprintBytes);
  hash = MixBytes(hash, packet.data, head);
  const std::size_t tail = std::min(size - head, kFingerprintBytes);
  return MixBytes(hash, packet.data + (size - tail), tail);
}

class Indexer {
 public:
  Indexer(std::unique_ptr<Source> source, int audio_track, std::vector<SubtitleTrack> beside)
      : source_(std::move(source)),
        beside_(std::move(beside)),
        repair_(source_->start_us(), RepairTracks(*source_->info())),
        describer_(source_->info(), source_->counted_pts()),
        index_(std::make_shared<SourceIndex>()) {
    index_->source = source_->info();
    index_->audio_track = audio_track;
    index_->counted_pts = source_->counted_pts();
    const SourceInfo& info = *source_->info();
    nominal_ = std::max<SourceTicks>(1, Rescale(1, info.video.fps.Inverse(), info.video.time_base));
    if (info.audio) {
      samples_.emplace(*info.audio);
      timeline_.emplace(info.audio->time_base,
                        info.duration.positive() ? info.duration : kLongestGap,
                        info.audio->codec == "vorbis");
    }
  }

  Result<std::shared_ptr<const SourceIndex>> Run();

 private:
  void OnVideo(AVPacket& packet);
  void OnAudio(AVPacket& packet);
  void NoteCoding();
  static std::int64_t SeekTime(const AVPacket& packet, Rational time_base);

  std::unique_ptr<Source> source_;
  std::vector<SubtitleTrack> beside_;
  TimestampRepair repair_;
  PacketDescriber describer_;
  std::shared_ptr<SourceIndex> index_;
  SourceTicks nominal_ = 1;
  bool any_shown_ = false;
  std::optional<AudioTimeline> timeline_;
  std::optional<PacketSamples> samples_;  // with timeline_
};

// Container time of the packet as it was read, rounded up so that a seek to it does not miss it.
std::int64_t Indexer::SeekTime(const AVPacket& packet, Rational time_base) {
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  return time == AV_NOPTS_VALUE ? 0 : Rescale(time, time_base, kMicros, Round::kUp);
}

void Indexer::NoteCoding() {
  const auto next = static_cast<std::int64_t>(index_->video.size());
  if (source_->coded() == index_->CodedAt(next)) return;
  index_->codings.push_back({.first_packet = next, .coded = source_->coded()});
  describer_.ChangeCoding(source_->coded());
}

void Indexer::OnVideo(AVPacket& packet) {
  SourceIndex::Video entry;
  entry.seek_us = SeekTime(packet, index_->source->video.time_base);
  entry.fingerprint = PacketFingerprint(packet);
  NoteCoding();
  repair_.Fix(kVideoTrack, packet);
  if (index_->video.empty() && !index_->counted_pts) GiveTime(packet, index_->source->video);
  const PacketMeta meta = describer_.Describe(packet);
  entry.pts = meta.pts;
  entry.packet_pts = packet.pts;
  entry.dts = packet.dts;
  entry.bytes = packet.size;
  entry.access = meta.access;
  entry.hidden = meta.hidden;
  if (!index_->video.empty() && meta.pts < index_->video.front().pts) ++index_->left_out;
  index_->video.push_back(entry);
  if (meta.hidden) return;
  const SourceTicks end = meta.pts + (meta.duration > 0 ? meta.duration : nominal_);
  index_->video_end = std::exchange(any_shown_, true) ? std::max(index_->video_end, end) : end;
}

void Indexer::OnAudio(AVPacket& packet) {
  const AudioInfo& audio = *index_->source->audio;
  if (audio.sample_rate <= 0) return;
  SourceIndex::Audio entry;
  entry.seek_us = SeekTime(packet, audio.time_base);
  entry.fingerprint = PacketFingerprint(packet);
  repair_.Fix(kAudioTrack, packet);
  entry.bytes = packet.size;
  if (!index_->audio.empty()) {
    entry.position = index_->audio.back().position + index_->audio.back().samples;
  }
  if (av::IsHidden(packet)) {
    index_->audio.push_back(entry);
    return;
  }
  entry.samples = samples_->Of(packet);
  std::optional<std::int64_t> pts;
  if (packet.pts != AV_NOPTS_VALUE) pts = packet.pts;
  const std::int64_t time = pts.value_or(timeline_->expected());
  if (!timeline_->CarriesOn(pts, entry.samples, audio.sample_rate) || index_->audio.empty()) {
    entry.position = Rescale(time, audio.time_base, {1, audio.sample_rate});
  }
  index_->audio.push_back(entry);
}

Result<std::shared_ptr<const SourceIndex>> Indexer::Run() {
  while (true) {
    const av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(*packet));
    if (state == Source::ReadState::kEnd) break;
    if (state == Source::ReadState::kVideo) OnVideo(*packet);
    if (state == Source::ReadState::kAudio) OnAudio(*packet);
    if (index_->video.size() + index_->audio.size() > kMaxIndexedPackets) {
      return Error{.code = Code::kUnsupported,
                   .message = "The source has too many packets to be served in segments.",
                   .accepted = "up to 8 million packets"};
    }
  }
  // An end that the disk or the network has made, not the file: the next reading may get further.
  if (source_->read_failed()) {
    return Error{.code = Code::kIo, .message = "The source could not be read to its end."};
  }
  if (index_->video.empty()) {
    return Error{.code = Code::kCorrupt, .message = "The source ends before its first picture."};
  }
  index_->truncated = source_->truncated();
  index_->left_out += source_->skipped();
  index_->subtitles = source_->TakeSubtitles();
  for (SubtitleTrack& track : beside_) CloseJumps(repair_.closed(), track);
  std::ranges::move(beside_, std::back_inserter(index_->subtitles));
  std::erase_if(index_->subtitles, [](const SubtitleTrack& track) { return track.cues.empty(); });
  return std::shared_ptr<const SourceIndex>(std::move(index_));
}

}  // namespace

std::uint64_t PacketFingerprint(const AVPacket& packet) {
  return PayloadHash(packet) ^ static_cast<std::uint64_t>(packet.pos);
}

// What is left is a place in a file, or -1, where none is known; of another payload it is anything.
bool HasPayloadOf(std::uint64_t fingerprint, const AVPacket& packet) {
  const auto pos = static_cast<std::int64_t>(fingerprint ^ PayloadHash(packet));
  return pos >= -1 && pos < kLargestFile;
}

const std::shared_ptr<const SourceInfo>& SourceIndex::CodedAt(std::int64_t packet) const {
  const auto behind = std::ranges::upper_bound(codings, packet, {}, &Coding::first_packet);
  return behind == codings.begin() ? source : std::prev(behind)->coded;
}

SourceTicks SourceIndex::first_pts() const {
  FirstShown first;
  for (const Video& packet : video) {
    if (first.Push(packet.pts, packet.hidden)) break;
  }
  return first.pts();
}

std::size_t SourceIndex::footprint_bytes() const {
  std::size_t bytes = video.capacity() * sizeof(Video) + audio.capacity() * sizeof(Audio);
  bytes += codings.capacity() * sizeof(Coding);
  for (const SubtitleTrack& track : subtitles) {
    for (const SubtitleCue& cue : track.cues) bytes += sizeof(cue) + cue.text.size();
  }
  return bytes;
}

Result<std::unique_ptr<Source>> OpenToIndex(UniqueFd fd, const std::stop_token& stop,
                                            int audio_track) {
  GOPMILL_ASSIGN_OR_RETURN(
      auto source, Source::Open(std::move(fd), stop,
                                {.texts = TextUse::kWebVtt, .audio = {.first = audio_track}}));
  if (!source->info()->seekable) {
    return Error{.code = Code::kUnsupported, .message = "A pipe cannot be served in segments."};
  }
  return source;
}

Result<std::shared_ptr<const SourceIndex>> IndexSource(UniqueFd fd, const std::stop_token& stop,
                                                       int audio_track,
                                                       std::vector<SubtitleTrack> beside) {
  GOPMILL_ASSIGN_OR_RETURN(auto source, OpenToIndex(std::move(fd), stop, audio_track));
  return Indexer(std::move(source), audio_track, std::move(beside)).Run();
}

}  // namespace gopmill
