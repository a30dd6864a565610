// SPDX-License-Identifier: Apache-2.0
#include "tests/corpus/plain_reading.h"

#include <fcntl.h>

#include "media/av_ptr.h"
#include "media/source.h"

namespace gopmill {
namespace {

av::CodecContext OpenDecoder(const AVCodecParameters& parameters) {
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  av::CodecContext context(avcodec_alloc_context3(codec));
  if (!context || avcodec_parameters_to_context(context.get(), &parameters) < 0) return nullptr;
  context->thread_count = 1;
  context->max_pixels = kMaxSourcePixels;
  return avcodec_open2(context.get(), codec, nullptr) < 0 ? nullptr : std::move(context);
}

// nullptr = the end.
void Decode(AVCodecContext& decoder, const AVPacket* packet, PlainReading& reading) {
  constexpr int kMostFailures = 256;  // of one packet: the decoder is stuck
  if (avcodec_send_packet(&decoder, packet) < 0) ++reading.rejected;
  const av::Frame frame = av::NewFrame();
  for (int failures = 0; failures < kMostFailures;) {
    const int code = avcodec_receive_frame(&decoder, frame.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    if (code >= 0) {
      ++reading.pictures;
    } else {
      ++failures;
      ++reading.rejected;
    }
  }
}

}  // namespace

std::optional<PlainReading> ReadPlainly(const std::string& path) {
  auto source = Source::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {});
  if (!source.ok()) return std::nullopt;
  const VideoInfo& video = (*source)->info()->video;
  const av::CodecContext decoder = OpenDecoder(*video.parameters);
  if (!decoder) return std::nullopt;
  PlainReading reading;
  bool begun = false;
  while (true) {
    const av::Packet packet = av::NewPacket();
    const auto state = (*source)->Read(*packet);
    if (!state.ok() || *state == Source::ReadState::kEnd) break;
    if (*state != Source::ReadState::kVideo) continue;
    begun = begun || (packet->flags & AV_PKT_FLAG_KEY) != 0;
    if (begun) Decode(*decoder, packet.get(), reading);
  }
  Decode(*decoder, nullptr, reading);
  return reading;
}

}  // namespace gopmill
