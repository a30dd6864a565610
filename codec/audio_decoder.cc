// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_decoder.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/contained.h"
#include "codec/amr_frames.h"
#include "media/av_error.h"
#include "media/decoder_table.h"

namespace gopmill {
namespace {

struct FixedPoint {
  AVCodecID codec;
  const char* decoder;
};
constexpr std::array kFixedPoint = std::to_array<FixedPoint>({
    {AV_CODEC_ID_AAC, "aac_fixed"},
    {AV_CODEC_ID_MP3, "mp3"},
    {AV_CODEC_ID_AC3, "ac3_fixed"},
});

// Decoders without floating point that are also the codec's first choice. PCM goes by its prefix.
constexpr std::array kIntegerCodecs = std::to_array<std::string_view>(
    {"aac", "mp3", "ac3", "flac", "alac", "truehd", "mlp", "wavpack"});

// AAC profiles (object type - 1) that the fixed-point decoder knows: Main, LC, LTP, SBR, PS.
constexpr std::array kFixedAacProfiles{0, 1, 3, 4, 28};
constexpr int kUnknownProfile = -99;

// AV_PKT_DATA_SKIP_SAMPLES: samples that are cut in front and at the end, 32 bits each, and why.
constexpr std::size_t kCutsBytes = 10;

const AVCodec* FixedDecoder(const AVCodecParameters& parameters) {
  const int profile = parameters.profile;
  if (parameters.codec_id == AV_CODEC_ID_AAC && profile != kUnknownProfile &&
      std::find(kFixedAacProfiles.begin(), kFixedAacProfiles.end(), profile) ==
          kFixedAacProfiles.end()) {
    return nullptr;
  }
  for (const FixedPoint& entry : kFixedPoint) {
    if (entry.codec == parameters.codec_id) return avcodec_find_decoder_by_name(entry.decoder);
  }
  return nullptr;
}

// An opened context, or none and why.
std::pair<av::CodecContext, int> OpenContext(const AVCodec& codec,
                                             const AVCodecParameters& parameters,
                                             Rational time_base) {
  av::CodecContext context(avcodec_alloc_context3(&codec));
  GOPMILL_CHECK(context != nullptr);
  int result = avcodec_parameters_to_context(context.get(), &parameters);
  context->pkt_timebase = av::ToAv(time_base);
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_BITEXACT;
  if (result >= 0) result = avcodec_open2(context.get(), &codec, nullptr);
  if (result < 0) context.reset();
  return {std::move(context), result};
}

}  // namespace

Result<std::unique_ptr<AudioDecoder>> AudioDecoder::Open(const AVCodecParameters& parameters,
                                                         Rational time_base) {
  int result = 0;
  const AVCodec* choices[] = {
      FixedDecoder(parameters),
      FindSourceDecoder(TrackKind::kAudio, avcodec_get_name(parameters.codec_id))};
  for (const AVCodec* codec : choices) {
    if (codec == nullptr) continue;
    auto [context, opened] = OpenContext(*codec, parameters, time_base);
    if (context != nullptr) {
      return std::unique_ptr<AudioDecoder>(new AudioDecoder(std::move(context)));
    }
    result = opened;
  }
  if (result == 0) {
    return Error{.code = Code::kUnsupported,
                 .message = std::string("Sound of codec \"") +
                            avcodec_get_name(parameters.codec_id) + "\" cannot be decoded here.",
                 .parameter = "acodec",
                 .accepted = "copy, none"};
  }
  return Error{.code = result == AVERROR(ENOMEM) ? Code::kInternal : Code::kCorrupt,
               .message = "The header of the source's sound is damaged: no decoder takes it.",
               .native = result};
}

template <class Call>
int AudioDecoder::Guarded(const Call& call) {
  int result = AVERROR_BUG;
  if (context_ == nullptr || ContainedCall([&] { result = call(); })) return result;
  static_cast<void>(context_.release());
  return AVERROR_BUG;
}

bool AudioDecoder::Send(const AVPacket* packet) {
  if (packet == nullptr || context_ == nullptr || !IsAmr(context_->codec_id)) {
    return SendWhole(packet);
  }
  rest_ = av::Ref(*packet);
  TakeCuts(*rest_);
  return SendOfRest();
}

// Each of its frames would be cut like the whole.
void AudioDecoder::TakeCuts(AVPacket& packet) {
  front_cut_ = 0;
  heard_ = INT64_MAX;
  std::size_t size = 0;
  const std::uint8_t* cuts = av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
  if (cuts == nullptr || size < kCutsBytes) return;
  front_cut_ = AV_RL32(cuts);
  const std::int64_t end_cut = AV_RL32(cuts + 4);
  av_packet_free_side_data(&packet);
  if (end_cut == 0) return;
  heard_ = -end_cut;
  for (int at = 0; at < packet.size;) {
    const int bytes = AmrFrameBytes(context_->codec_id, packet.data[at]);
    if (bytes <= 0) break;
    at += bytes;
    heard_ += AmrFrameSamples(context_->sample_rate);
  }
}

void AudioDecoder::CutFrame(AVPacket& frame) {
  const std::int64_t samples = AmrFrameSamples(context_->sample_rate);
  const std::int64_t end_cut = std::clamp<std::int64_t>(samples - heard_, 0, samples);
  if (front_cut_ > 0 || end_cut > 0) {
    std::uint8_t* cuts = av_packet_new_side_data(&frame, AV_PKT_DATA_SKIP_SAMPLES, kCutsBytes);
    GOPMILL_CHECK(cuts != nullptr);
    std::fill_n(cuts, kCutsBytes, std::uint8_t{0});
    AV_WL32(cuts, static_cast<std::uint32_t>(front_cut_));
    AV_WL32(cuts + 4, static_cast<std::uint32_t>(end_cut));
  }
  front_cut_ = std::max<std::int64_t>(0, front_cut_ - samples);
  if (heard_ != INT64_MAX) heard_ -= samples;
}

bool AudioDecoder::SendOfRest() {
  const av::Packet frame = av::Ref(*rest_);
  const int bytes = frame->size > 0 ? AmrFrameBytes(context_->codec_id, frame->data[0]) : 0;
  frame->size = std::min(bytes, frame->size);
  rest_->data += frame->size;
  rest_->size -= frame->size;
  if (rest_->pts != AV_NOPTS_VALUE) {
    rest_->pts += Rescale(kAmrFrameMs, {1, 1000}, av::FromAv(context_->pkt_timebase));
  }
  rest_->dts = rest_->pts;
  if (rest_->size == 0) rest_.reset();
  CutFrame(*frame);
  return SendWhole(frame.get());
}

bool AudioDecoder::SendWhole(const AVPacket* packet) {
  // All frames are taken after each packet, so the decoder is never full.
  const int result = Guarded([&] { return avcodec_send_packet(context_.get(), packet); });
  if (result >= 0 || result == AVERROR_EOF) return true;
  ++damaged_;
  return false;
}

bool AudioDecoder::Receive(AVFrame& frame) {
  while (true) {
    const int result = Guarded([&] { return avcodec_receive_frame(context_.get(), &frame); });
    if (result >= 0) return frame.nb_samples > 0 && frame.sample_rate > 0;
    if (result != AVERROR(EAGAIN) && result != AVERROR_EOF) ++damaged_;
    if (rest_ == nullptr || context_ == nullptr) return false;
    SendOfRest();
  }
}

bool AudioDecoderCpuIndependent(std::string_view codec) {
  return codec.starts_with("pcm_") ||
         std::find(kIntegerCodecs.begin(), kIntegerCodecs.end(), codec) != kIntegerCodecs.end();
}

}  // namespace gopmill
