// SPDX-License-Identifier: Apache-2.0
#include "media/ingest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/held_bytes.h"
#include "media/resolve_target.h"

namespace gopmill {
namespace {

// Sound read before the first picture may fill at most this; a file beyond is not a movie.
constexpr std::size_t kMaxEarlyAudioPackets = 20'000;
constexpr std::int64_t kMaxEarlyAudioBytes = 16 << 20;

// Of a packet of sound, for the repair of times.
std::size_t TrackOf(const AVPacket& sound) {
  return kAudioTrack + static_cast<std::size_t>(sound.stream_index);
}

bool Later(std::int64_t ticks, Rational time_base, Rational seconds) {
  return seconds.valid() && static_cast<internal::Int128>(ticks) * time_base.num * seconds.den >=
                                static_cast<internal::Int128>(seconds.num) * time_base.den;
}

// Where decoding should begin for a start inside the movie: before the pictures that filters look
// at.
Rational EntryTime(const Target& target, const VideoInfo& video) {
  const int context = TemporalContext(video, target);
  if (context == 0 || !video.fps.positive()) return target.start;
  const Rational earlier = Difference(target.start, {(context + 1) * video.fps.den, video.fps.num});
  return earlier.num > 0 ? earlier : Rational{0, 1};
}

}  // namespace

Error NoPicture(const SourceInfo& source) {
  if (!source.seekable && source.container.starts_with("mov")) {
    return {.code = Code::kCorrupt,
            .message =
                "No picture was found; an MP4 whose index (moov) comes last cannot be read "
                "while it comes.",
            .accepted =
                "an MP4 with its index in front (faststart) or in fragments, or another "
                "container"};
  }
  return {.code = Code::kCorrupt,
          .message =
              "The source ends before its first picture; it is truncated, or the start lies "
              "behind its end."};
}

std::size_t UnitInput::bytes() const {
  std::size_t sum = 0;
  for (const av::Packet& packet : packets) sum += static_cast<std::size_t>(packet->size);
  return sum;
}

Result<std::unique_ptr<Ingest>> Ingest::Open(UniqueFd fd, const TargetRequest& request,
                                             std::stop_token stop) {
  GOPMILL_ASSIGN_OR_RETURN(auto source,
                           Source::Open(std::move(fd), std::move(stop), {.audio = request.audio}));
  return Open(std::unique_ptr<PacketSource>(std::move(source)), request);
}

Result<std::unique_ptr<Ingest>> Ingest::Open(std::unique_ptr<PacketSource> source,
                                             const TargetRequest& request, PlanTexts texts) {
  const SourceInfo& info = *source->info();
  GOPMILL_ASSIGN_OR_RETURN(ResolvedTarget resolved, ResolveTarget(request, info));
  if (source->live() && !request.unit_seconds) {
    resolved.target.unit_seconds =
        HasLowDelay(resolved.target) ? kLiveGopSeconds : kLiveUnitSeconds;
  }
  // Pictures that are counted have to be counted from the first one on.
  if (resolved.target.start.num > 0 && !source->counted_pts()) {
    GOPMILL_RETURN_IF_ERROR(source->SeekBefore(EntryTime(resolved.target, info.video)));
  }
  TimestampRepair repair(source->start_us(), RepairTracks(info));
  std::unique_ptr<Ingest> ingest(new Ingest(std::move(source), std::move(repair)));
  ingest->adjustments_ = std::move(resolved.adjustments);
  if (texts.copied != nullptr && texts.copied->empty()) {
    ingest->adjustments_.push_back(
        {"subtitles", "copy", "off", "the movie has no text that can be copied"});
  }
  if (texts.copied != nullptr && std::ranges::any_of(*texts.copied, &SubtitleTrack::incomplete)) {
    ingest->adjustments_.push_back(
        {"subtitles", "copy", "copy in part", "a track has more cues than are kept"});
  }
  GOPMILL_RETURN_IF_ERROR(ingest->ReadToFirstVideo());
  ingest->MakePlan(resolved.target, std::move(texts));
  return ingest;
}

Status Ingest::ReadToFirstVideo() {
  FirstShown first;
  std::size_t bytes = 0;
  while (true) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(*packet));
    if (state == PacketSource::ReadState::kEnd) {
      if (!first_videos_.empty()) break;
      return NoPicture(*source_->info());
    }
    if (state == PacketSource::ReadState::kText) continue;  // not asked for
    if (state == PacketSource::ReadState::kAudio) {
      early_audio_bytes_ += packet->size;
      if (early_audio_.size() >= kMaxEarlyAudioPackets ||
          early_audio_bytes_ > kMaxEarlyAudioBytes) {
        return Error{.code = Code::kUnsupported,
                     .message = "The source has too much sound before its first picture."};
      }
      repair_.Fix(TrackOf(*packet), *packet);
      early_audio_.push_back(std::move(packet));
      continue;
    }
    if (first_videos_.empty()) NoteBegin(*packet);
    repair_.Fix(kVideoTrack, *packet);
    if (first_videos_.empty() && !source_->counted_pts()) {
      GiveTime(*packet, source_->info()->video);
    }
    const SourceTicks pts = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    const bool known = first.Push(pts, av::IsHidden(*packet));
    bytes += HeldBytes(*packet);
    first_videos_.push_back({.packet = std::move(packet), .coded = source_->coded()});
    if (known || bytes > kMaxCollectedBytes / 2) break;
  }
  first_pts_ = first.pts();
  return OkStatus();
}

void Ingest::NoteBegin(const AVPacket& picture) {
  const std::int64_t time = picture.dts != AV_NOPTS_VALUE ? picture.dts : picture.pts;
  if (time == AV_NOPTS_VALUE) return;
  begin_us_ = Rescale(time, source_->info()->video.time_base, kMicros) - source_->start_us();
}

void Ingest::PlaceGrid(StreamPlan& plan) {
  constexpr Rational k90kHz{1, 90'000};
  const Target& target = plan.target;
  const VideoInfo& video = plan.source->video;
  // After a seek the first packet lies before the start. In the whole source it is the start.
  const SourceTicks first = plan.counted_pts ? 0 : first_pts_;
  shown_from_ = first_pts_;
  const LiveJoin* join = source_->join();
  if (join == nullptr) {
    clip_start_ = target.start;
    const SourceTicks start = ToTicks(target.start, video.time_base);
    const SourceTicks origin = std::max(first, start);
    plan.grid = OutputGrid(target.fps, video.fps, video.time_base, origin, source_->live());
    if (origin == first) ++shown_from_;  // of two that are both the first one is shown
    plan.video_offset_90k = Rescale(origin - start, video.time_base, k90kHz);
    return;
  }
  clip_start_ = Rational{join->begin * video.time_base.num, video.time_base.den}.Reduced();
  const OutputGrid shared(target.fps, video.fps, video.time_base, join->anchor, true);
  plan.grid = shared.CountedFrom(shared.FirstFrameShowing(first));
  plan.video_offset_90k =
      std::max<std::int64_t>(0, Rescale(join->anchor - join->begin, video.time_base, k90kHz) +
                                    Rescale(plan.grid.first(), plan.grid.fps().Inverse(), k90kHz));
  plan.first_packet = join->packet;
}

void Ingest::MakePlan(const Target& target, PlanTexts texts) {
  const SourceInfo& info = *source_->info();
  auto plan = std::make_shared<StreamPlan>();
  plan->source = coded_ = source_->info();
  plan->target = target;
  plan->texts = std::move(texts);
  plan->counted_pts = source_->counted_pts();
  const Rational time_base = info.video.time_base;
  PlaceGrid(*plan);
  plan->text_shift_us = ShiftAt(plan->texts.jumps, begin_us_);
  if (plan->texts.script) plan->grid.SetScriptShift(ShiftAt(plan->texts.script->jumps, begin_us_));
  plan->low_delay = source_->live() && HasLowDelay(target);
  plan_ = plan;

  PlannerOptions options{.unit_seconds = target.unit_seconds,
                         .source_fps = info.video.fps,
                         .source_time_base = time_base,
                         .live = source_->live(),
                         .reorder_delay = info.video.parameters->video_delay,
                         .temporal_context = plan->temporal_context()};
  if (plan->low_delay) {
    options.unit_seconds = kLivePieceSeconds;
    options.gop_seconds = target.unit_seconds;
  }
  // Nothing behind an IDR picture of H.264 is shown before it.
  options.closed_may_lead = info.video.has_b_frames && info.video.codec != "h264";
  if (target.rate_mode == RateMode::kBitrate) options.bitrate = target.bitrate;
  if (target.duration.valid()) {
    // Frames that start before start + duration.
    options.frame_limit = plan->grid.FramesBefore(clip_end());
  }
  planner_ = std::make_unique<UnitPlanner>(plan->grid, options);
  describer_ = std::make_unique<PacketDescriber>(source_->info(), plan->counted_pts);
  audio_over_.resize(target.acodec == AudioCodec::kNone ? 0 : info.sounds());
}

Rational Ingest::clip_end() const {
  const Rational& length = plan_->target.duration;
  return length.valid() ? Sum(clip_start_, length) : Rational();
}

Result<Ingest::Item> Ingest::Next() {
  if (audio_done()) early_audio_.clear();
  if (!early_audio_.empty()) {
    av::Packet packet = std::move(early_audio_.front());
    early_audio_.pop_front();
    return Item(AudioInput{std::move(packet)});
  }
  while (!first_videos_.empty()) {
    FirstVideo first = std::move(first_videos_.front());
    first_videos_.pop_front();
    if (first.coded != coded_) ChangeCoding(std::move(first.coded), first.packet.get());
    OnVideo(std::move(first.packet));
  }
  while (ready_.empty()) GOPMILL_RETURN_IF_ERROR(Read());
  Result<Item> item(std::move(ready_.front()));
  ready_.pop_front();
  return item;
}

Status Ingest::Read() {
  if (planner_->done() && audio_done()) {
    OnEnd();
    return OkStatus();
  }
  av::Packet packet = av::NewPacket();
  GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(*packet));
  switch (state) {
    case PacketSource::ReadState::kVideo:
      repair_.Fix(kVideoTrack, *packet);
      if (source_->coded() != coded_) ChangeCoding(source_->coded(), packet.get());
      if (planner_->done()) {
        EndSoundsAt(packet->dts);
      } else {
        OnVideo(std::move(packet));
      }
      break;
    case PacketSource::ReadState::kAudio:
      repair_.Fix(TrackOf(*packet), *packet);
      if (source_->coded() != coded_) {
        // With other pictures the first of them comes first: sound before it has no place.
        if (source_->coded()->video.parameters != coded_->video.parameters) break;
        ChangeCoding(source_->coded(), nullptr);
      }
      OnAudio(std::move(packet));
      break;
    case PacketSource::ReadState::kText: break;  // not asked for
    case PacketSource::ReadState::kEnd: OnEnd(); break;
  }
  if (collected_bytes_ > kMaxCollectedBytes) {
    return Error{.code = Code::kUnsupported,
                 .message = "One GOP of the source is too large to be held in memory.",
                 .accepted = "up to 256 MiB between key frames, with 1 KiB for each picture"};
  }
  return OkStatus();
}

// `picture`: the first one that is coded in another way.
void Ingest::ChangePictures(const AVPacket& picture, const StreamPlan& plan) {
  std::vector<UnitSpec> units;
  planner_->ChangeCoding({.fps = coded_->video.fps,
                          .reorder_delay = coded_->video.parameters->video_delay,
                          .temporal_context = plan.temporal_context()},
                         picture.pts != AV_NOPTS_VALUE ? picture.pts : picture.dts, units);
  EmitUnits(units);
  describer_ = std::make_unique<PacketDescriber>(coded_, plan.counted_pts);
}

void Ingest::ChangeCoding(std::shared_ptr<const SourceInfo> coded, const AVPacket* picture) {
  const auto before = std::exchange(coded_, std::move(coded));
  auto plan = std::make_shared<StreamPlan>(*plan_);
  plan->source = coded_;
  const bool other_pictures = coded_->video.parameters != before->video.parameters;
  if (picture != nullptr && other_pictures) ChangePictures(*picture, *plan);
  ready_.emplace_back(CodingChanged{std::move(plan)});
}

void Ingest::OnVideo(av::Packet packet) {
  PacketMeta meta = describer_->Describe(*packet);
  if (const Arrival* arrival = source_->arrival()) {
    meta.after_gap = arrival->after_gap;
    meta.cut_here = arrival->cut_here;
  }
  collected_bytes_ += HeldBytes(*packet);
  packets_.push_back(std::move(packet));
  access_.push_back(meta.access);
  std::vector<UnitSpec> units;
  planner_->Push(meta, units);
  EmitUnits(units);
}

bool Ingest::audio_done() const {
  return std::ranges::all_of(audio_over_, [](bool over) { return over; });
}

// A sound track that has stopped never comes to the clip's end by itself, and a live source has no
// other.
void Ingest::EndSoundsAt(std::int64_t picture) {
  const Rational end = clip_end();
  constexpr auto kSlack = static_cast<std::int64_t>(kMaxGapSeconds);
  const Rational last = end.valid() ? Sum(end, {kSlack, 1}) : end;
  if (!Later(picture, plan_->source->video.time_base, last)) return;
  audio_over_.assign(audio_over_.size(), true);
}

void Ingest::OnAudio(av::Packet packet) {
  const auto sound = static_cast<std::size_t>(packet->stream_index);
  if (sound >= audio_over_.size() || audio_over_[sound]) return;
  const Rational end = clip_end();
  const std::int64_t pts = packet->pts;
  if (pts != AV_NOPTS_VALUE && !av::IsHidden(*packet) &&
      Later(pts, plan_->source->sound(sound).time_base, end)) {
    audio_over_[sound] = true;
    return;
  }
  ready_.emplace_back(AudioInput{std::move(packet)});
}

void Ingest::OnEnd() {
  if (std::exchange(ended_, true)) return;
  std::vector<UnitSpec> units;
  planner_->Finish(units);
  EmitUnits(units);
  ready_.emplace_back(EndAfter(planned_frames_));
}

EndOfSource Ingest::EndAfter(std::int64_t frames) const {
  return {.truncated = source_->truncated(),
          .repaired = repair_.repaired(),
          .left_out = left_out_ + source_->skipped(),
          .planned_frames = frames};
}

// The oldest packet is needed no more. Where the output begins later than the source, no unit has
// those in between either: they are not left out, but not asked for.
void Ingest::Forget() {
  const AVPacket& packet = *packets_.front();
  const bool in_no_unit = packets_base_ >= delivered_ && !av::IsHidden(packet);
  if (in_no_unit && packet.pts != AV_NOPTS_VALUE && packet.pts < shown_from_) ++left_out_;
  collected_bytes_ -= HeldBytes(packet);
  packets_.pop_front();
  access_.pop_front();
  ++packets_base_;
}

// A unit gets the packets from its first one on; those that an earlier unit of its run already took
// are not sent twice.
void Ingest::EmitUnits(const std::vector<UnitSpec>& units) {
  for (const UnitSpec& spec : units) {
    UnitInput unit{.spec = spec, .packets = {}};
    const std::int64_t first =
        spec.cut == CutKind::kChained ? std::max(spec.first_packet, delivered_) : spec.first_packet;
    for (std::int64_t n = first; n < spec.end_packet; ++n) {
      const auto place = static_cast<std::size_t>(n - packets_base_);
      unit.packets.push_back(av::Ref(*packets_[place]));
      unit.access.push_back(access_[place]);
    }
    delivered_ = std::max(delivered_, spec.end_packet);
    planned_frames_ = spec.end_frame;
    ready_.emplace_back(std::move(unit));
  }
  const std::int64_t oldest = planner_->oldest_needed();
  while (packets_base_ < oldest && !packets_.empty()) Forget();
}

}  // namespace gopmill
