// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/gop_codec.h"

extern "C" {
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <utility>

#include "codec/encoder_info.h"
#include "media/av_error.h"

namespace gopmill::bench {
namespace {

// What codec/encoder_settings gives x264, less what only a joined stream needs.
constexpr const char* kX264Params =
    "threads=1:lookahead-threads=1:sliced-threads=0:stitchable=1:cpu-independent=1"
    ":keyint=infinite:min-keyint=536870912";
constexpr int kScaling = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT;

void Check(int code) { GOPMILL_CHECK(code >= 0); }

// The first output frame at or after the source frame n.
std::int64_t FirstShowing(std::int64_t n, AVRational source_fps, int fps) {
  return av_rescale_rnd(n, std::int64_t{fps} * source_fps.den, source_fps.num, AV_ROUND_UP);
}

Status ReadPackets(AVFormatContext& format, int stream, std::int64_t frames, Movie& movie) {
  std::int64_t number = 0;
  while (true) {
    av::Packet packet = av::NewPacket();
    if (av_read_frame(&format, packet.get()) < 0) break;
    if (packet->stream_index != stream) continue;
    const bool key = (static_cast<unsigned>(packet->flags) & AV_PKT_FLAG_KEY) != 0;
    if (key && number >= frames) break;
    if (key) movie.gops.push_back({.first_frame = number, .packets = {}});
    if (movie.gops.empty()) continue;
    movie.gops.back().packets.push_back(std::move(packet));
    ++number;
  }
  if (movie.gops.empty()) return Error{.code = Code::kCorrupt, .message = "No key frame."};
  return OkStatus();
}

}  // namespace

Result<Movie> LoadMovie(const std::string& path, double seconds) {
  AVFormatContext* opened = nullptr;
  int code = avformat_open_input(&opened, path.c_str(), nullptr, nullptr);
  if (code < 0) return av::AvError("The movie " + path + " cannot be opened", code);
  const av::InputFormat format(opened);
  code = avformat_find_stream_info(format.get(), nullptr);
  if (code < 0) return av::AvError("The movie " + path + " cannot be read", code);
  const int stream = av_find_best_stream(format.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (stream < 0) return av::AvError("The movie " + path + " has no video", stream);
  const AVStream& video = *format->streams[stream];
  Movie movie;
  movie.parameters.reset(avcodec_parameters_alloc());
  Check(avcodec_parameters_copy(movie.parameters.get(), video.codecpar));
  movie.fps = video.avg_frame_rate;
  const auto frames = static_cast<std::int64_t>(seconds * av_q2d(movie.fps));
  GOPMILL_RETURN_IF_ERROR(ReadPackets(*format, stream, frames, movie));
  return movie;
}

GopCodec::GopCodec(const Movie& movie, const BenchStream& target, std::string preset, double crf)
    : movie_(movie),
      target_(target),
      preset_(std::move(preset)),
      crf_(crf),
      decoded_(av::NewFrame()),
      scaled_(av::NewFrame()),
      packet_(av::NewPacket()) {
  const AVCodecParameters& source = *movie.parameters;
  const AVCodec* codec = avcodec_find_decoder(source.codec_id);
  decoder_.reset(avcodec_alloc_context3(codec));
  Check(avcodec_parameters_to_context(decoder_.get(), &source));
  decoder_->thread_count = 1;
  Check(avcodec_open2(decoder_.get(), codec, nullptr));
  scaler_ = sws_getContext(source.width, source.height, AV_PIX_FMT_YUV420P, target_.width,
                           target_.height, AV_PIX_FMT_YUV420P, kScaling, nullptr, nullptr, nullptr);
  GOPMILL_CHECK(scaler_ != nullptr);
  scaled_->format = AV_PIX_FMT_YUV420P;
  scaled_->width = target_.width;
  scaled_->height = target_.height;
  Check(av_frame_get_buffer(scaled_.get(), 0));
}

GopCodec::~GopCodec() { sws_freeContext(scaler_); }

void GopCodec::OpenEncoder() {
  const AVCodec* codec = avcodec_find_encoder_by_name("libx264");
  GOPMILL_CHECK(codec != nullptr);
  encoder_.reset(avcodec_alloc_context3(codec));
  encoder_->width = target_.width;
  encoder_->height = target_.height;
  encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
  encoder_->time_base = {1, target_.fps};
  encoder_->framerate = {target_.fps, 1};
  encoder_->bit_rate = crf_ > 0 ? 0 : target_.bitrate;
  if (crf_ > 0) Check(av_opt_set_double(encoder_->priv_data, "crf", crf_, 0));
  encoder_->thread_count = 1;
  encoder_->flags |= static_cast<int>(AV_CODEC_FLAG_CLOSED_GOP | AV_CODEC_FLAG_GLOBAL_HEADER);
  Check(av_opt_set(encoder_->priv_data, "preset", preset_.c_str(), 0));
  Check(av_opt_set(encoder_->priv_data, "profile", "high", 0));
  Check(av_opt_set(encoder_->priv_data, "x264-params", kX264Params, 0));
  Check(avcodec_open2(encoder_.get(), codec, nullptr));
}

void GopCodec::Encode(const AVFrame* frame) {
  Check(avcodec_send_frame(encoder_.get(), frame));
  while (avcodec_receive_packet(encoder_.get(), packet_.get()) == 0) {
    // Some 700 bytes in each GOP, that no work goes into and the engine sends once per stream.
    if (coded_.frames == 0) StripEncoderInfo(*packet_);
    coded_.bytes += packet_->size;
    ++coded_.frames;
    av_packet_unref(packet_.get());
  }
}

void GopCodec::Scale() {
  Check(av_frame_make_writable(scaled_.get()));
  sws_scale(scaler_, decoded_->data, decoded_->linesize, 0, decoded_->height, scaled_->data,
            scaled_->linesize);
}

void GopCodec::OnDecoded(std::int64_t n) {
  const std::int64_t first = FirstShowing(n, movie_.fps, target_.fps);
  const std::int64_t end = FirstShowing(n + 1, movie_.fps, target_.fps);
  if (first == end) return;
  Scale();
  for (scaled_->pts = first; scaled_->pts < end; ++scaled_->pts) Encode(scaled_.get());
}

Coded GopCodec::Transcode(const Gop& gop) {
  coded_ = {};
  OpenEncoder();
  std::int64_t n = gop.first_frame;
  const auto take_frames = [&] {
    while (avcodec_receive_frame(decoder_.get(), decoded_.get()) == 0) OnDecoded(n++);
  };
  for (const av::Packet& packet : gop.packets) {
    Check(avcodec_send_packet(decoder_.get(), packet.get()));
    take_frames();
  }
  Check(avcodec_send_packet(decoder_.get(), nullptr));
  take_frames();
  avcodec_flush_buffers(decoder_.get());
  Encode(nullptr);
  encoder_.reset();
  return coded_;
}

}  // namespace gopmill::bench
