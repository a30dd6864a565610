// SPDX-License-Identifier: Apache-2.0
#include "codec/video_decoder.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/contained.h"
#include "media/av_error.h"
#include "media/decoder_table.h"
#include "media/source.h"

namespace gopmill {
namespace {

// A decoder that reports this many failures in a row for one packet is taken to be stuck.
constexpr int kMaxFailuresPerCall = 256;
// Pictures a decoder holds: references plus the ones that wait for their turn.
constexpr std::size_t kPicturesHeld = 8;
constexpr std::size_t kDecoderBytes = 2U << 20U;

Error NotDecodable(std::string_view codec) {
  return Error{.code = Code::kUnsupported,
               .message = "Video of codec \"" + std::string(codec) + "\" cannot be decoded here."};
}

// The byte that mid-grey consists of, or nearly. Samples of more than eight bits have two bytes,
// and must not be beyond their depth: what scales and encodes relies on that.
int GreyByte(int format) {
  const AVPixFmtDescriptor* pixels = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  const int depth = pixels == nullptr ? 8 : pixels->comp[0].depth;
  return depth > 8 && depth <= 16 ? 1 << (depth - 9) : 0x80;
}

// Not of H.264, MPEG-1/2/4 and their kin: their decoders patch such places themselves, nearly all.
bool LeavesPlacesUnwritten(const AVCodecParameters& parameters) {
  constexpr std::array kOthers{AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_FFV1,
                               AV_CODEC_ID_CFHD};
  return DecodesSinglePictures(parameters) ||
         std::ranges::find(kOthers, parameters.codec_id) != kOthers.end();
}

// FFmpeg hands out the buffers of earlier pictures as they are, and what a damaged picture leaves
// unwritten would show one of them: which one depends on how many others hold at the time. Nothing
// but FFmpeg and memset runs in here: it stays within the ContainedCall of its decoder.
int GetGreyBuffer(AVCodecContext* context, AVFrame* frame, int flags) noexcept {
  if (const int ret = avcodec_default_get_buffer2(context, frame, flags); ret < 0) return ret;
  const int grey = GreyByte(frame->format);
  for (const AVBufferRef* buffer : frame->buf) {
    if (buffer != nullptr) std::memset(buffer->data, grey, buffer->size);
  }
  return 0;
}

}  // namespace

bool DecodesSinglePictures(const AVCodecParameters& parameters) {
  const AVCodecDescriptor* codec = avcodec_descriptor_get(parameters.codec_id);
  return codec != nullptr && (codec->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
}

bool ForgetsRuns(const AVCodecParameters& parameters) {
  return DecodesSinglePictures(parameters) && parameters.codec_id != AV_CODEC_ID_MJPEG &&
         parameters.codec_id != AV_CODEC_ID_DVVIDEO;
}

bool HasMadeUpParts(const AVFrame& frame) {
  return frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
}

Result<av::CodecContext> VideoDecoder::OpenContext(const AVCodecParameters& parameters,
                                                   Rational time_base, int x264_build) {
  const std::string_view name = avcodec_get_name(parameters.codec_id);
  const AVCodec* codec = FindSourceDecoder(TrackKind::kVideo, name);
  if (codec == nullptr) return NotDecodable(name);

  av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  if (const int ret = avcodec_parameters_to_context(context.get(), &parameters); ret < 0) {
    return av::AvError("The video's codec parameters are unusable", ret);
  }
  context->pkt_timebase = av::ToAv(time_base);
  context->thread_count = 1;
  // Without it some motion compensation of MPEG-1/2/4 is approximated on some CPUs.
  context->flags |= AV_CODEC_FLAG_BITEXACT;
  context->idct_algo = FF_IDCT_SIMPLE;
  context->thread_type = 0;
  context->max_pixels = kMaxSourcePixels;
  if (LeavesPlacesUnwritten(parameters)) context->get_buffer2 = GetGreyBuffer;
  if (x264_build >= 0) {  // H.264; refused by none
    av_opt_set_int(context.get(), "x264_build", x264_build, AV_OPT_SEARCH_CHILDREN);
  }
  if (const int ret = avcodec_open2(context.get(), codec, nullptr); ret < 0) {
    return Error{.code = ret == AVERROR(ENOMEM) ? Code::kInternal : Code::kCorrupt,
                 .message = "The header of the source's video is damaged: no decoder takes it.",
                 .native = ret};
  }
  return context;
}

Result<std::unique_ptr<VideoDecoder>> VideoDecoder::Open(const AVCodecParameters& parameters,
                                                         Rational time_base, int x264_build) {
  GOPMILL_ASSIGN_OR_RETURN(av::CodecContext context,
                           OpenContext(parameters, time_base, x264_build));
  av::CodecParameters copy(avcodec_parameters_alloc());
  GOPMILL_CHECK(copy != nullptr && avcodec_parameters_copy(copy.get(), &parameters) >= 0);
  return std::unique_ptr<VideoDecoder>(
      new VideoDecoder(std::move(context), std::move(copy), time_base, x264_build));
}

Status VideoDecoder::Replace() {
  static_cast<void>(context_.release());  // left behind as it is (base/contained.h)
  GOPMILL_ASSIGN_OR_RETURN(context_, OpenContext(*parameters_, time_base_, x264_build_));
  ++damaged_;
  return OkStatus();
}

Status VideoDecoder::Judge(int native) {
  if (native == AVERROR(ENOMEM)) return av::AvError("The video decoder failed", native);
  ++damaged_;
  return OkStatus();
}

Status VideoDecoder::Send(const AVPacket* packet) {
  const bool incomplete = packet != nullptr && (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
  if (incomplete) ++damaged_;
  int ret = 0;
  if (!ContainedCall([&] { ret = avcodec_send_packet(context_.get(), packet); })) return Replace();
  if (ret == 0) return OkStatus();
  if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) {
    return InternalError("A packet was given to a decoder that could not take one.", ret);
  }
  return incomplete && ret != AVERROR(ENOMEM) ? OkStatus() : Judge(ret);
}

Result<bool> VideoDecoder::Receive(AVFrame& frame) {
  for (int failures = 0; failures < kMaxFailuresPerCall; ++failures) {
    int ret = 0;
    if (!ContainedCall([&] { ret = avcodec_receive_frame(context_.get(), &frame); })) {
      GOPMILL_RETURN_IF_ERROR(Replace());
      return false;
    }
    if (ret == 0) {
      time_told_ = frame.pts != AV_NOPTS_VALUE;
      frame.pts = frame.best_effort_timestamp;
      return true;
    }
    if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) return false;
    GOPMILL_RETURN_IF_ERROR(Judge(ret));
  }
  return false;
}

void VideoDecoder::Flush() {
  avcodec_flush_buffers(context_.get());
  context_->has_b_frames = initial_delay_;
  damaged_ = 0;
}

std::size_t VideoDecoder::footprint_bytes() const {
  const int picture =
      av_image_get_buffer_size(context_->pix_fmt, context_->width, context_->height, 64);
  return kDecoderBytes + kPicturesHeld * static_cast<std::size_t>(std::max(picture, 0));
}

}  // namespace gopmill
