// SPDX-License-Identifier: Apache-2.0
#include "media/packet_samples.h"

#include <algorithm>
#include <cstdlib>

#include "base/rational.h"

namespace gopmill {

PacketSamples::PacketSamples(const AudioInfo& audio)
    : audio_(audio),
      parser_(av_parser_init(audio.parameters->codec_id)),
      codec_(avcodec_alloc_context3(nullptr)) {
  if (parser_ == nullptr || codec_ == nullptr) return;
  parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
  avcodec_parameters_to_context(codec_.get(), audio.parameters.get());
}

PacketSamples::~PacketSamples() { av_parser_close(parser_); }

int PacketSamples::Parsed(const AVPacket& packet) {
  if (parser_ == nullptr || codec_ == nullptr) return 0;
  std::uint8_t* data = nullptr;
  int size = 0;
  parser_->duration = 0;
  av_parser_parse2(parser_, codec_.get(), &data, &size, packet.data, packet.size, packet.pts,
                   packet.dts, packet.pos);
  return parser_->duration;
}

int PacketSamples::Of(const AVPacket& packet) {
  const Rational sample{1, audio_.sample_rate};
  const std::int64_t timed = Rescale(packet.duration, audio_.time_base, sample);
  AVCodecParameters& parameters = const_cast<AVCodecParameters&>(*audio_.parameters);  // reads only
  const std::int64_t fixed = av_get_audio_frame_duration2(&parameters, packet.size);
  const std::int64_t known = fixed > 0 ? fixed : Parsed(packet);
  const std::int64_t rounding = audio_.sample_rate / 500;
  if (known > 0 && (timed <= 0 || std::abs(known - timed) <= rounding)) {
    return static_cast<int>(known);
  }
  return static_cast<int>(std::clamp<std::int64_t>(timed, 0, 1 << 20));
}

}  // namespace gopmill
