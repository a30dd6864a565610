// SPDX-License-Identifier: Apache-2.0
#include "media/packet_output.h"

#include <utility>

#include "media/muxer.h"

namespace gopmill {
PacketForwarder::PacketForwarder(std::span<const MuxTrack> tracks, OnPacket on_packet)
    : on_packet_(std::move(on_packet)), packets_(tracks.size(), 0) {
  for (const MuxTrack& track : tracks) time_bases_.push_back(track.time_base);
}

std::vector<CodedTrack> PacketForwarder::Describe(std::span<const MuxTrack> tracks) {
  std::vector<CodedTrack> described;
  for (const MuxTrack& track : tracks) {
    const AVCodecParameters& parameters = *track.parameters;
    CodedTrack coded;
    coded.kind = track.kind;
    coded.codec = avcodec_get_name(parameters.codec_id);
    coded.extradata.assign(parameters.extradata, parameters.extradata + parameters.extradata_size);
    if (track.kind == TrackKind::kVideo) {
      coded.frame_rate = track.frame_rate;
      coded.width = parameters.width;
      coded.height = parameters.height;
    } else {
      coded.sample_rate = parameters.sample_rate;
      coded.channels = parameters.ch_layout.nb_channels;
    }
    described.push_back(std::move(coded));
  }
  return described;
}

Status PacketForwarder::Write(std::size_t track, av::Packet packet) {
  GOPMILL_CHECK(track < time_bases_.size());
  const auto nanos = [&](std::int64_t ticks) { return Rescale(ticks, time_bases_[track], kNanos); };
  ++packets_[track];
  bytes_ += packet->size;
  return on_packet_({.track = track,
                     .bytes = {packet->data, static_cast<std::size_t>(packet->size)},
                     .pts_ns = nanos(packet->pts),
                     .dts_ns = nanos(packet->dts),
                     .duration_ns = nanos(packet->duration),
                     .key = (packet->flags & AV_PKT_FLAG_KEY) != 0});
}

std::int64_t PacketForwarder::packets_written(std::size_t track) const {
  GOPMILL_CHECK(track < packets_.size());
  return packets_[track];
}

}  // namespace gopmill
