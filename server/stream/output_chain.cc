// SPDX-License-Identifier: Apache-2.0
#include "server/stream/output_chain.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "media/language.h"

namespace gopmill {
namespace {

constexpr std::size_t kVideo = 0, kAudio = 1;  // the first of the sound tracks
// Longest stretch of pictures in one fragment. Short ones reach the client sooner, long ones spend
// fewer bytes on headers.
constexpr double kFragmentSeconds = 1.0;
// How far sound may lie behind the pictures next to it in a well-made container.
constexpr double kInterleaveSlackSeconds = 1.0;
// Coded sound that may come without a unit of pictures, for each track: so much while a unit of the
// usual length is read, in proportion for longer ones, up to a limit that many tracks alone pass.
constexpr std::size_t kMaxSoundAhead = std::size_t{16} << 20U;
constexpr std::size_t kMaxSoundOfLongUnits = std::size_t{256} << 20U;
// And so many packets of each, however small: forty minutes of those of 20 ms behind one picture.
constexpr std::size_t kMaxSoundPackets = 120'000;
constexpr Rational k90kHz{1, 90'000};
// Flags of our own on a packet that has left the reorderer; taken off before muxing.
constexpr std::int64_t kLastOfPiece = 1, kLastOfGop = 2;
// Pieces are shorter than is worth a header.
constexpr double kPiecesSeconds = 0.2;

}  // namespace

OutputChain::OutputChain(OutputOpener open, std::function<void(UnitIndex)> release,
                         SeamLedger::OnSeam on_seam)
    : open_(std::move(open)), release_(std::move(release)), on_seam_(std::move(on_seam)) {}

void OutputChain::SetPlan(const PlanReady& ready) {
  plan_ = ready.plan;
  encoder_ = ready.encoder;
  sounds_ = ready.sounds;
  // One tick per frame where the pictures start the clock; finer where sound comes first.
  video_time_base_ = plan_->video_offset_90k == 0 ? plan_->grid.fps().Inverse() : k90kHz;
  std::vector<Rational> time_bases{video_time_base_};
  for (const CodedSound& sound : sounds_) time_bases.push_back(sound.time_base);
  const Target& target = plan_->target;
  first_text_ = time_bases.size();
  if (plan_->texts.copied) {
    for (const SubtitleTrack& track : *plan_->texts.copied)
      texts_.emplace_back(track, plan_->TextClip());
  }
  time_bases.insert(time_bases.end(), texts_.size(), kTextTimeBase);
  interleaver_ = std::make_unique<Interleaver>(std::move(time_bases));
  for (std::size_t i = 0; i < texts_.size(); ++i) FeedText(i);
  seams_.emplace(SeamTerms{.fps = plan_->grid.fps(),
                           .video_time_base = video_time_base_,
                           .video_offset = plan_->video_offset_90k,
                           .maxrate = target.maxrate,
                           .bufsize = target.bufsize,
                           .audio_copied = target.acodec == AudioCodec::kCopy},
                 on_seam_);
}

void OutputChain::OnPlanned(const UnitSpec& unit) {
  seams_->OnPlanned(unit.index, unit.first_frame, unit.end_frame, unit.begins_gop());
  if (!unit.ends_gop) within_gop_.insert(unit.index);
}

MuxTrack OutputChain::Describe(std::size_t sound) const {
  const AudioInfo& source = plan_->source->sound(sound);
  MuxTrack track;
  track.kind = TrackKind::kAudio;
  track.parameters = sounds_[sound].parameters;
  track.time_base = sounds_[sound].time_base;
  track.language = ContainerLanguage(source.language);
  track.title = source.title;
  track.is_default = sound == 0;
  track.roles = source.roles;
  return track;
}

Status OutputChain::OnEncoder(std::shared_ptr<const AVCodecParameters> parameters) {
  if (muxer_) return OkStatus();  // a retried first unit
  std::vector<MuxTrack> tracks{{.kind = TrackKind::kVideo,
                                .parameters = std::move(parameters),
                                .time_base = video_time_base_,
                                .frame_rate = plan_->grid.fps(),
                                .mastering_display = encoder_->mastering_display,
                                .content_light = encoder_->content_light,
                                .language = ContainerLanguage(plan_->source->video.language),
                                .title = plan_->source->video.title,
                                .is_default = true}};
  for (std::size_t i = 0; i < sounds_.size(); ++i) tracks.push_back(Describe(i));
  for (const TextFeed& text : texts_) tracks.push_back(text.Describe());
  GOPMILL_ASSIGN_OR_RETURN(muxer_, open_(plan_->target.container, tracks));
  if (!muxer_->merged()) interleaver_->StopMerging();
  return OkStatus();
}

Status OutputChain::OnPacket(PacketCoded coded) {
  std::vector<Reorderer::Released> released;
  GOPMILL_RETURN_IF_ERROR(
      reorderer_.OnPacket(coded.unit, coded.place, std::move(coded.packet), released));
  return Forward(std::move(released));
}

Status OutputChain::OnUnitEnd(UnitIndex unit, const UnitStats& stats, Size size) {
  if (stats.packets > 0) {
    seams_->OnParameterSets(unit, stats.parameter_hash, size);
    if (!parameter_sets_.Note(size, stats.parameter_hash)) {
      return InternalError("Unit " + std::to_string(unit.value) +
                           " was coded with other parameter sets than those of its size.");
    }
  }
  std::vector<Reorderer::Released> released;
  GOPMILL_RETURN_IF_ERROR(reorderer_.OnUnitEnd(unit, stats.packets, released));
  return Forward(std::move(released));
}

Status OutputChain::Forward(std::vector<Reorderer::Released> released) {
  const Rational frame = plan_->grid.fps().Inverse();
  for (Reorderer::Released& item : released) {
    const bool within_gop = item.last_of_unit && within_gop_.erase(item.unit) > 0;
    if (item.packet == nullptr) {
      release_(item.unit);
      continue;
    }
    AVPacket& packet = *item.packet;
    packet.pos = 0;
    if (item.last_of_unit) packet.pos = within_gop ? kLastOfPiece : kLastOfGop;
    if (plan_->video_offset_90k != 0) {
      packet.pts = Rescale(packet.pts, frame, k90kHz) + plan_->video_offset_90k;
      packet.dts = Rescale(packet.dts, frame, k90kHz) + plan_->video_offset_90k;
      packet.duration = Rescale(1, frame, k90kHz);
    }
    interleaver_->Push(kVideo, std::move(item.packet));
    if (item.last_of_unit) release_(item.unit);
  }
  return Drain();
}

std::size_t OutputChain::MostSoundAhead() const {
  const double unit = plan_->target.unit_seconds;
  const double usual = (unit > 0 ? unit : kMaxUnitSeconds) / kDefaultUnitSeconds;
  const std::size_t each = kMaxSoundAhead * sounds_.size();
  const auto scaled = static_cast<std::size_t>(static_cast<double>(each) * std::max(1.0, usual));
  return std::max(each, std::min(scaled, kMaxSoundOfLongUnits));
}

Status OutputChain::OnAudio(AudioCoded audio, std::size_t window_sound) {
  for (av::Packet& packet : audio.packets)
    interleaver_->Push(kAudio + audio.sound, std::move(packet));
  GOPMILL_RETURN_IF_ERROR(Drain());
  // Sound of units in the window waits for workers, not for the source: the window bounds it.
  const std::size_t most = MostSoundAhead();
  const std::size_t held = most + sounds_.size() * kMaxSoundPackets * kPacketOverhead;
  if (interleaver_->payload() <= window_sound + most &&
      interleaver_->bytes() <= window_sound + held) {
    return OkStatus();
  }
  const std::size_t mebibytes = (most >> 20U) / sounds_.size();
  return Error{.code = Code::kUnsupported,
               .message = "The source's sound and pictures lie too far apart to be put together.",
               .accepted = "up to " + std::to_string(mebibytes) + " MiB of coded sound, and " +
                           std::to_string(kMaxSoundPackets) +
                           " packets, for each of its tracks, without a picture"};
}

Status OutputChain::OnRead(double seconds) {
  const double until = seconds - kInterleaveSlackSeconds;
  for (std::size_t i = 0; i < sounds_.size(); ++i) {
    const double ticks = std::floor(until / sounds_[i].time_base.ToDouble());
    interleaver_->Advance(kAudio + i, static_cast<std::int64_t>(ticks));
  }
  return sounds_.empty() ? OkStatus() : Drain();
}

Status OutputChain::OnAudioEnd() {
  for (std::size_t i = 0; i < sounds_.size(); ++i) interleaver_->End(kAudio + i);
  return sounds_.empty() ? OkStatus() : Drain();
}

Status OutputChain::OnVideoEnd() {
  interleaver_->End(kVideo);
  return Drain();
}

void OutputChain::FeedText(std::size_t text) {
  const std::size_t track = first_text_ + text;
  if (av::Packet packet = texts_[text].Next()) {
    interleaver_->Push(track, std::move(packet));
  } else {
    interleaver_->End(track);
  }
}

void OutputChain::NoteEnd(const AVPacket& packet, Rational time_base) {
  end_ms_ = std::max(end_ms_, Rescale(packet.pts + packet.duration, time_base, kTextTimeBase));
}

// Text that begins when the last picture and the last sound are over.
bool OutputChain::IsBehindTheEnd(const AVPacket& text) const {
  for (std::size_t track = 0; track < first_text_; ++track) {
    if (!interleaver_->drained(track)) return false;
  }
  return text.pts >= end_ms_;
}

Status OutputChain::Drain() {
  if (!muxer_) return OkStatus();
  while (auto next = interleaver_->Pop()) {
    if (next->first == kVideo) {
      GOPMILL_RETURN_IF_ERROR(MuxVideo(std::move(next->second)));
    } else if (next->first >= first_text_) {
      const std::size_t text = next->first;
      if (!IsBehindTheEnd(*next->second)) {
        GOPMILL_RETURN_IF_ERROR(muxer_->Write(text, std::move(next->second)));
      }
      FeedText(text - first_text_);
    } else {
      const std::size_t sound = next->first - kAudio;
      seams_->OnSound(next->second->pts, next->second->duration, sound);
      NoteEnd(*next->second, sounds_[sound].time_base);
      GOPMILL_RETURN_IF_ERROR(muxer_->Write(next->first, std::move(next->second)));
    }
  }
  return OkStatus();
}

// Fragments end behind the last picture of each GOP, at least once a second, and sooner behind a
// piece: places that depend on the packets alone.
Status OutputChain::MuxVideo(av::Packet packet) {
  const bool last_of_gop = packet->pos == kLastOfGop;
  const bool last_of_piece = packet->pos == kLastOfPiece;
  packet->pos = -1;
  seams_->OnPicture(packet->pts, packet->size, last_of_gop);
  NoteEnd(*packet, video_time_base_);
  GOPMILL_RETURN_IF_ERROR(muxer_->Write(kVideo, std::move(packet)));
  ++frames_muxed_;
  const double pending =
      static_cast<double>(frames_muxed_ - last_flush_frame_) / plan_->grid.fps().ToDouble();
  const bool has_headers = muxer_->merged() && plan_->target.container != Container::kTs;
  const double most = last_of_piece ? (has_headers ? kPiecesSeconds : 0) : kFragmentSeconds;
  if (!last_of_gop && pending < most) return OkStatus();
  last_flush_frame_ = frames_muxed_;
  return last_of_gop ? muxer_->EndUnit() : muxer_->EndFragment();
}

Status OutputChain::Finish(std::int64_t frames) {
  if (frames == 0) return NothingShown(plan_->target);
  if (!muxer_ || !interleaver_->drained()) {
    return InternalError("The stream ended with packets left over.");
  }
  if (muxer_->packets_written(kVideo) != frames) {
    return InternalError("Planned " + std::to_string(frames) + " frames, muxed " +
                         std::to_string(muxer_->packets_written(kVideo)) + ".");
  }
  return muxer_->Finish();
}

}  // namespace gopmill
