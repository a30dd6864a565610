// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_encoder.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/opt.h>
}

#include <algorithm>

#include "media/av_error.h"

namespace gopmill {
namespace {

constexpr const char* kEncoding = "The audio encoder failed";
constexpr std::size_t kSkipSamplesBytes = 10;

// Only formats of float, so that no rounding comes between mixing and encoding.
struct Choice {
  const char* encoder;
  AVSampleFormat format;
};
Choice ChoiceFor(AudioCodec codec) {
  if (codec == AudioCodec::kOpus) return {"libopus", AV_SAMPLE_FMT_FLT};
  return {"aac", AV_SAMPLE_FMT_FLTP};
}

// The order in which FFmpeg gives five and seven channels to Opus by itself puts the centre and the
// surrounds into each other's places (libopusenc.c, 5.1); that of mapping family 1 is right.
Status OrderChannels(AVCodecContext& context) {
  const int channels = context.ch_layout.nb_channels;
  if (context.codec_id != AV_CODEC_ID_OPUS || (channels != 5 && channels != 7)) return OkStatus();
  const int result = av_opt_set_int(context.priv_data, "mapping_family", 1, 0);
  if (result < 0) return av::AvError(kEncoding, result);
  return OkStatus();
}

// States how many samples at the end of the packet are no sound of the source.
void AddDiscard(AVPacket& packet, std::int64_t samples) {
  if (av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, nullptr) != nullptr) return;
  std::uint8_t* data =
      av_packet_new_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, kSkipSamplesBytes);
  GOPMILL_CHECK(data != nullptr);
  std::fill_n(data, kSkipSamplesBytes, std::uint8_t{0});
  for (unsigned i = 0; i < 4; ++i) {  // little endian, as libavcodec reads it
    data[4 + i] = static_cast<std::uint8_t>(samples >> (8 * i) & 0xFF);
  }
}

}  // namespace

Result<std::unique_ptr<AudioEncoder>> AudioEncoder::Open(AudioCodec acodec,
                                                         const SoundTarget& target,
                                                         bool global_header) {
  const Choice choice = ChoiceFor(acodec);
  const AVCodec* codec = avcodec_find_encoder_by_name(choice.encoder);
  if (codec == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "This build cannot encode " + std::string(Name(acodec)) + ".",
                 .parameter = "acodec"};
  }
  av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  context->sample_fmt = choice.format;
  context->sample_rate = target.sample_rate;
  context->time_base = {1, target.sample_rate};
  context->bit_rate = target.abitrate;
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_BITEXACT;
  if (global_header) context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  av_channel_layout_from_mask(&context->ch_layout, target.layout);
  GOPMILL_RETURN_IF_ERROR(OrderChannels(*context));
  const int result = avcodec_open2(context.get(), codec, nullptr);
  if (result < 0) {
    Error error = av::AvError("The audio encoder does not take these settings", result);
    error.code = Code::kUnsupported;
    error.parameter = "channels";
    return error;
  }
  return std::unique_ptr<AudioEncoder>(new AudioEncoder(std::move(context)));
}

Status AudioEncoder::SendFrame(AudioFifo& fifo, int samples) {
  const av::Frame frame = av::NewFrame();
  frame->nb_samples = samples;
  frame->format = context_->sample_fmt;
  frame->sample_rate = context_->sample_rate;
  frame->pts = fifo.position();
  int result = av_channel_layout_copy(&frame->ch_layout, &context_->ch_layout);
  if (result >= 0) result = av_frame_get_buffer(frame.get(), 0);
  if (result < 0) return av::AvError(kEncoding, result);
  const bool planar = av_sample_fmt_is_planar(context_->sample_fmt) != 0;
  const int channels = context_->ch_layout.nb_channels;
  for (int i = 0; i < channels; ++i) {
    auto* to = reinterpret_cast<float*>(frame->extended_data[planar ? i : 0]);
    fifo.Copy(i, samples, planar ? to : to + i, planar ? 1 : channels);
  }
  fifo.Drop(samples);
  fed_ = true;
  result = avcodec_send_frame(context_.get(), frame.get());
  if (result < 0) return av::AvError(kEncoding, result);
  return OkStatus();
}

Status AudioEncoder::Receive(std::vector<av::Packet>& out) {
  for (;;) {
    av::Packet packet = av::NewPacket();
    const int result = avcodec_receive_packet(context_.get(), packet.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return OkStatus();
    if (result < 0) return av::AvError(kEncoding, result);
    packet->dts = packet->pts;
    if (packet->duration > 0 && packet->duration < context_->frame_size) {
      AddDiscard(*packet, context_->frame_size - packet->duration);
    }
    out.push_back(std::move(packet));
  }
}

Status AudioEncoder::Encode(AudioFifo& fifo, bool end, std::vector<av::Packet>& out) {
  const int whole = context_->frame_size;
  while (fifo.size() >= whole) {
    GOPMILL_RETURN_IF_ERROR(SendFrame(fifo, whole));
    GOPMILL_RETURN_IF_ERROR(Receive(out));
  }
  if (!end) return OkStatus();
  if (fifo.size() > 0) GOPMILL_RETURN_IF_ERROR(SendFrame(fifo, static_cast<int>(fifo.size())));
  if (!fed_) return OkStatus();  // no sound at all: no packets
  const int result = avcodec_send_frame(context_.get(), nullptr);
  if (result < 0) return av::AvError(kEncoding, result);
  return Receive(out);
}

}  // namespace gopmill
