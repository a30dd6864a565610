// SPDX-License-Identifier: Apache-2.0
#include "media/packet_meta.h"

#include <algorithm>
#include <utility>

#include "media/random_access.h"

namespace gopmill {
namespace {

std::int64_t FrameTicks(const VideoInfo& video) {
  return std::max<std::int64_t>(1, Rescale(1, video.fps.Inverse(), video.time_base));
}

std::int64_t DelayTicks(const VideoInfo& video) {
  return FrameTicks(video) * std::max(0, video.parameters->video_delay);
}

// 0 where it is unknown. What a header claims that no frame of sound has counts for nothing.
double FrameSeconds(const AudioInfo& sound) {
  constexpr double kLongest = 1;
  const int samples = sound.parameters == nullptr ? 0 : sound.parameters->frame_size;
  if (samples <= 0 || !SoundRateUsable(sound.sample_rate)) return 0;
  const double seconds = static_cast<double>(samples) / sound.sample_rate;
  return seconds <= kLongest ? seconds : 0;
}

}  // namespace

void GiveTime(AVPacket& first, const VideoInfo& video) {
  if (first.pts == AV_NOPTS_VALUE) first.pts = first.dts + DelayTicks(video);
}

std::vector<TimestampRepair::Track> RepairTracks(const SourceInfo& info) {
  std::vector<TimestampRepair::Track> tracks;
  tracks.push_back({.time_base = info.video.time_base,
                    .reorders = info.video.has_b_frames,
                    .frame_seconds = 1.0 / info.video.fps.ToDouble()});
  // The frames of the first packet of a transport stream have no times of their own where FFmpeg
  // read them before it knew the rate.
  for (std::size_t i = 0; i < info.sounds(); ++i) {
    tracks.push_back(
        {.time_base = info.sound(i).time_base, .frame_seconds = FrameSeconds(info.sound(i))});
  }
  return tracks;
}

bool FirstShown::Push(SourceTicks pts, bool hidden) {
  if (!std::exchange(begun_, true)) {
    pts_ = pts;
    if (!hidden) return true;
  }
  if (hidden) return false;
  pts_ = shown_ == 0 ? pts : std::min(pts_, pts);
  return ++shown_ > kReorderSlack;
}

PacketMeta PacketDescriber::Describe(const AVPacket& packet) {
  const VideoInfo& video = source_->video;
  const std::int64_t number = number_++;
  PacketMeta meta{.pts = packet.pts, .duration = packet.duration, .bytes = packet.size};
  meta.access =
      ClassifyPacket(*video.parameters, {packet.data, static_cast<std::size_t>(packet.size)},
                     (packet.flags & AV_PKT_FLAG_KEY) != 0);
  if (counted_pts_) {
    // Display order is unknown before decoding: count, and trust closed cuts only.
    meta.pts = Rescale(number, video.fps.Inverse(), video.time_base);
    meta.duration = 0;
    if (meta.access != RandomAccess::kClosed) meta.access = RandomAccess::kNone;
  } else {
    FillIn(packet, meta);
  }
  meta.hidden = av::IsHidden(packet);
  if (!meta.hidden) {
    latest_ = std::max(latest_.value_or(meta.pts), meta.pts);
  } else if (latest_) {
    meta.pts = *latest_ + 1;
  }
  return meta;
}

// MPEG program streams state the pts of some pictures only; those without are I and P pictures,
// since a B picture's is its dts. At the start of a closed GOP the pts lies the reorder delay
// behind the dts, and so does the end of the stream behind its last packet's.
void PacketDescriber::FillIn(const AVPacket& packet, PacketMeta& meta) {
  const VideoInfo& video = source_->video;
  const std::int64_t frame = FrameTicks(video), delay = DelayTicks(video);
  if (meta.pts == AV_NOPTS_VALUE) {
    pts_missing_ = true;
    meta.pts = packet.dts + delay;
  }
  if (pts_missing_) meta.duration = std::max(meta.duration, packet.dts + delay + frame - meta.pts);
}

}  // namespace gopmill
