// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_segmenter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "media/segment_muxer.h"
#include "media/unit_planner.h"

namespace gopmill {
namespace {

// Of a source, that the planner may wait for before it cuts: those that are held back and one more.
constexpr double kHeldPictures = 4;
constexpr double kSoundPacket = 1024;  // samples, of AAC; others are shorter

// The one in front of a key frame of the source, or one that ended late.
std::int64_t LongestUnit(std::int64_t unit, const LiveCutTerms& terms) {
  const Rational source = terms.source_fps.positive() ? terms.source_fps : terms.fps;
  const double held = kHeldPictures * terms.fps.ToDouble() / source.ToDouble();
  const auto late = unit + static_cast<std::int64_t>(std::ceil(held));
  return std::min(late, UnitPlanner::LongestOf(static_cast<double>(unit)));
}

}  // namespace

std::int64_t PartFrames(double part_seconds, Rational fps) {
  return std::max<std::int64_t>(1, std::llround(part_seconds * fps.ToDouble()));
}

LiveCut LiveCutFor(const LiveCutTerms& terms) {
  const double rate = terms.fps.ToDouble();
  const auto full = std::llround(terms.segment_seconds * rate);
  LiveCut cut{.part_frames = PartFrames(terms.part_seconds, terms.fps)};
  if (terms.low_delay) {  // a GOP may be a piece longer
    cut.segment_frames = 1;
    cut.longest_frames = full + std::max<std::int64_t>(1, std::llround(kLivePieceSeconds * rate));
    return cut;
  }
  const std::int64_t unit = kUnitParts * cut.part_frames;
  cut.segment_frames = std::max<std::int64_t>(full - unit / 2, 1);
  cut.longest_frames = cut.segment_frames - 1 + LongestUnit(unit, terms);
  return cut;
}

int TargetSecondsFor(const LiveCut& cut, Rational fps, int sample_rate) {
  const double sound = sample_rate > 0 ? kSoundPacket / sample_rate : 0;
  const double longest = static_cast<double>(cut.longest_frames) / fps.ToDouble() + sound;
  return std::max(1, static_cast<int>(std::lround(longest)));
}

Result<std::unique_ptr<PacketOutput>> LiveSegmenter::Open(std::span<const MuxTrack> tracks,
                                                          const LiveCut& cut,
                                                          std::shared_ptr<LiveClock> clock,
                                                          LiveTrackSink& sink) {
  std::unique_ptr<LiveSegmenter> self(new LiveSegmenter(cut, std::move(clock), sink));
  const std::vector<CodedTrack> described = PacketForwarder::Describe(tracks);
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    GOPMILL_RETURN_IF_ERROR(self->AddTrack(tracks[i], described[i]));
  }
  return std::unique_ptr<PacketOutput>(std::move(self));
}

// Pictures are counted; sound keeps its own clock. Lead: an encoder's reordering or priming.
Status LiveSegmenter::AddTrack(const MuxTrack& track, const CodedTrack& coded) {
  const bool video = track.kind == TrackKind::kVideo;
  LiveCutter& cutter = video ? video_ : sounds_.emplace_back();
  cutter.number = sounds_.size();
  cutter.track.mux = track;
  if (video) {
    video_time_base_ = track.time_base;
    cutter.track.mux.time_base = track.frame_rate.Inverse();
    cutter.track.lead = track.parameters->video_delay;
  } else {
    cutter.track.lead = Rescale(track.parameters->initial_padding, {1, coded.sample_rate},
                                track.time_base, Round::kUp);
  }
  GOPMILL_RETURN_IF_ERROR(Describe(cutter.track));
  sink_.OnTrack(cutter.number, cutter.track, coded);
  return OkStatus();
}

Status LiveSegmenter::Write(std::size_t track, av::Packet packet) {
  if (track == 0) return WriteVideo(std::move(packet));
  WriteSound(sounds_[track - 1], std::move(packet));
  return OkStatus();
}

Status LiveSegmenter::WriteVideo(av::Packet packet) {
  if (!origin_) {
    origin_ = packet->pts;
    origin_ns_ = Rescale(packet->pts, video_time_base_, kNanos);
  }
  const Rational frame = video_.track.mux.time_base;
  packet->pts = Rescale(packet->pts - *origin_, video_time_base_, frame);
  packet->dts = Rescale(packet->dts - *origin_, video_time_base_, frame);
  packet->duration = 1;
  const bool key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
  if (key && video_.open && StretchAt(packet->pts).number != stretch_) {
    GOPMILL_RETURN_IF_ERROR(Close(packet->pts));
  }
  if (!video_.open) {
    Begin(video_, packet->pts);
    if (cut_.keys && key) key_ = av::Ref(*packet);
  }
  ++end_frame_;
  Add(video_, std::move(packet));
  return in_parts() && video_.ticks == cut_.part_frames ? CutPart(video_) : OkStatus();
}

// Of a publisher whose pictures stop while its sound goes on: nobody hears it without them, and if
// they come back, then next to what is said by then.
void LiveSegmenter::WriteSound(LiveCutter& sound, av::Packet packet) {
  waiting_bytes_ += static_cast<std::size_t>(packet->size);
  sound.waiting.push_back(std::move(packet));
  while (waiting_bytes_ > kMaxWaitingSound) {
    const auto begin = [this](const LiveCutter& cutter) {
      if (cutter.waiting.empty()) return std::numeric_limits<std::int64_t>::max();
      return NanosOf(cutter, cutter.waiting.front()->pts);
    };
    TakeWaiting(*std::ranges::min_element(sounds_, {}, begin));
  }
}

av::Packet LiveSegmenter::TakeWaiting(LiveCutter& sound) {
  av::Packet packet = std::move(sound.waiting.front());
  sound.waiting.pop_front();
  waiting_bytes_ -= static_cast<std::size_t>(packet->size);
  return packet;
}

// All pictures up to here are there, and so may the sound be that goes with them.
Status LiveSegmenter::EndUnit() {
  if (end_frame_ - begin_frame_ >= cut_.segment_frames) return Close(end_frame_);
  return ReleaseSounds(end_frame_);
}

Status LiveSegmenter::Finish() {
  if (!video_.open) return OkStatus();
  // The last pictures have no others behind them that would take the sound there.
  GOPMILL_RETURN_IF_ERROR(ReleaseSounds(std::max(end_frame_, begin_frame_ + cut_.longest_frames)));
  return Close(end_frame_);
}

Status LiveSegmenter::ReleaseSounds(std::int64_t end_frame) {
  for (LiveCutter& sound : sounds_) {
    GOPMILL_RETURN_IF_ERROR(ReleaseSound(sound, end_frame));
  }
  return OkStatus();
}

// Sound that comes back after a pause brings all its silence at once, far more than a segment may
// hold. The segments that it belonged to are closed; players have heard nothing there.
void LiveSegmenter::SkipPause(LiveCutter& sound) {
  if (sound.waiting.empty()) return;
  const Rational tick = sound.track.mux.time_base;
  const auto ticks = [&](std::int64_t frames) {
    return Rescale(frames, video_.track.mux.time_base, tick);
  };
  const std::int64_t longest =
      std::max(cut_.longest_frames, end_frame_ - begin_frame_) + cut_.part_frames;
  const AVPacket &oldest = *sound.waiting.front(), &newest = *sound.waiting.back();
  const std::int64_t origin = Rescale(origin_ns_, kNanos, tick);
  // Sound that lies ahead of the pictures, as in a publisher's first burst, is of later segments.
  const std::int64_t end = std::min(newest.pts + newest.duration, ticks(end_frame_) + origin);
  if (end - oldest.pts <= ticks(longest)) return;
  const std::int64_t begin = ticks(begin_frame_) + origin;
  while (!sound.waiting.empty()) {
    const AVPacket& packet = *sound.waiting.front();
    if (packet.pts + packet.duration > begin) return;
    TakeWaiting(sound);
  }
}

// A packet belongs to the segment that most of it is heard in.
Status LiveSegmenter::ReleaseSound(LiveCutter& sound, std::int64_t end_frame) {
  const Rational tick = sound.track.mux.time_base;
  const std::int64_t end = Rescale(end_frame, video_.track.mux.time_base, tick);
  const std::int64_t origin = Rescale(origin_ns_, kNanos, tick);
  const std::int64_t part =
      Rescale(cut_.part_frames, video_.track.mux.time_base, tick, Round::kDown);
  SkipPause(sound);
  while (!sound.waiting.empty()) {
    const AVPacket& packet = *sound.waiting.front();
    const std::int64_t pts = packet.pts - origin;
    if (pts + packet.duration / 2 >= end) break;
    av::Packet taken = TakeWaiting(sound);
    if (pts < -sound.track.lead) continue;  // before the first picture
    taken->pts = pts;
    taken->dts -= origin;
    if (in_parts() && sound.ticks > 0 && sound.ticks + taken->duration > part) {
      GOPMILL_RETURN_IF_ERROR(CutPart(sound));
    }
    if (!sound.open) Begin(sound, pts);
    Add(sound, std::move(taken));
  }
  return OkStatus();
}

void LiveSegmenter::Add(LiveCutter& cutter, av::Packet packet) {
  ++cutter.packets;
  cutter.ticks += packet->duration;
  cutter.independent |= (packet->flags & AV_PKT_FLAG_KEY) != 0;
  cutter.pending.push_back(std::move(packet));
}

Status LiveSegmenter::CutPart(LiveCutter& cutter) {
  GOPMILL_ASSIGN_OR_RETURN(LivePart part, MakePart(cutter));
  sink_.OnPart(cutter.number, std::move(part));
  return OkStatus();
}

Result<LivePart> LiveSegmenter::MakePart(LiveCutter& cutter) {
  LivePart part{.bytes = nullptr,
                .ticks = std::exchange(cutter.ticks, 0),
                .independent = std::exchange(cutter.independent, false)};
  GOPMILL_ASSIGN_OR_RETURN(
      std::string bytes, Contain(cutter.track, cutter.chunks++, std::exchange(cutter.first, false),
                                 std::exchange(cutter.pending, {})));
  if (!in_parts()) {
    cutter.counters.GoOn({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  }
  cutter.bytes += static_cast<std::int64_t>(bytes.size());
  part.bytes = std::make_shared<const std::string>(std::move(bytes));
  return part;
}

// What a stream in MP4 says once, in front, FFmpeg's muxer of transport streams says with each IDR.
Result<std::string> LiveSegmenter::Contain(const SegmentTrack& track, std::int64_t sequence,
                                           bool first, std::vector<av::Packet> packets) const {
  return in_parts()
             ? MakeChunk(track.mux, track.lead, sequence, first, std::move(packets))
             : MakeSegment(cut_.container, track.mux, track.lead, sequence, std::move(packets));
}

// `start` in ticks of the track. The segment of the sound begins with its first packet.
void LiveSegmenter::Begin(LiveCutter& cutter, std::int64_t start) {
  if (cutter.number == 0) {
    const LiveClock::Stretch stretch = StretchAt(start);
    const bool jumped = next_number_ > 0 && stretch.number != stretch_;
    stretch_ = stretch.number;
    period_ += jumped ? 1 : 0;
    segment_ = {.number = next_number_++,
                .stretch = stretch_,
                .publisher = stretch.publisher,
                .period = period_,
                .discontinuity = jumped,
                .zero_ns = origin_ns_};
    begin_frame_ = end_frame_ = start;
  }
  LiveSegment segment = segment_;
  segment.start = start;
  segment.wall = StretchAt(begin_frame_).WallOf(NanosOf(cutter, start) + origin_ns_);
  cutter.open = cutter.first = true;
  sink_.OnBegin(cutter.number, std::move(segment));
}

Status LiveSegmenter::Close(std::int64_t end_frame) {
  GOPMILL_RETURN_IF_ERROR(ReleaseSounds(end_frame));
  GOPMILL_RETURN_IF_ERROR(CloseTrack(video_));
  for (LiveCutter& sound : sounds_) {
    if (!sound.open) {
      Begin(sound, Rescale(begin_frame_, video_.track.mux.time_base, sound.track.mux.time_base));
    }
    GOPMILL_RETURN_IF_ERROR(CloseTrack(sound));
  }
  return OkStatus();
}

Status LiveSegmenter::CloseTrack(LiveCutter& cutter) {
  std::optional<LivePart> last;
  if (!cutter.pending.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(last, MakePart(cutter));
  }
  LiveKey key;
  if (cutter.number == 0 && key_) {
    GOPMILL_ASSIGN_OR_RETURN(key, MakeKey());
  }
  cutter.open = false;
  sink_.OnEnd(cutter.number, std::move(last), std::move(key));
  return OkStatus();
}

// Shown until the next of its kind: as long as the segment.
Result<LiveKey> LiveSegmenter::MakeKey() {
  std::vector<av::Packet> alone;
  alone.push_back(av::Ref(*key_));
  alone.front()->duration = end_frame_ - begin_frame_;
  GOPMILL_ASSIGN_OR_RETURN(std::string bytes,
                           Contain(video_.track, segment_.number, true, std::move(alone)));
  return LiveKey{.bytes = std::make_shared<const std::string>(std::move(bytes)),
                 .packet = std::make_shared<const av::Packet>(std::move(key_))};
}

// A picture may be shown up to a quarter of its length before it came.
LiveClock::Stretch LiveSegmenter::StretchAt(std::int64_t frame) const {
  const std::int64_t at = NanosOf(video_, frame) + origin_ns_;
  return clock_->At(at, NanosOf(video_, 1) / 4);
}

std::int64_t LiveSegmenter::NanosOf(const LiveCutter& cutter, std::int64_t ticks) const {
  return Rescale(ticks, cutter.track.mux.time_base, kNanos);
}

std::int64_t LiveSegmenter::bytes_written() const {
  std::int64_t bytes = video_.bytes;
  for (const LiveCutter& sound : sounds_) bytes += sound.bytes;
  return bytes;
}

std::int64_t LiveSegmenter::packets_written(std::size_t track) const {
  return track == 0 ? video_.packets : sounds_[track - 1].packets;
}

}  // namespace gopmill
