// SPDX-License-Identifier: Apache-2.0
#include "codec/video_encoder.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/thread.h"
#include "codec/av1_gate.h"
#include "codec/encoder_info.h"
#include "codec/encoder_settings.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// Pictures an encoder holds: lookahead and references, each with the half-size copies that motion
// search makes of it; by codec, for estimates only.
std::size_t PicturesHeld(VideoCodec codec) {
  switch (codec) {
    case VideoCodec::kH264: return 60;
    case VideoCodec::kHevc: return 80;
    case VideoCodec::kAv1: return 140;
    case VideoCodec::kVp9: return 60;
    case VideoCodec::kMpeg4: return 8;
  }
  return 0;
}
constexpr std::size_t kEncoderBytes = 4U << 20U;

// Frames that wait in front of the codec, where steering wants to see further ahead than the codec
// does by itself.
constexpr std::size_t kSteeringLookahead = 8;
std::size_t FramesHeld(const EncoderSpec& spec) {
  if (!SteeredByCrf(spec) || spec.quality == Quality::kBest || spec.low_delay) return 0;
  const bool looks_ahead = spec.codec == VideoCodec::kH264 && PresetLookahead(spec.preset) > 0;
  return looks_ahead ? 0 : kSteeringLookahead;
}

// Of a unit's frames: one in so many. x264 takes 7 MB for each picture of 1080p in its lookahead;
// with one in eight two workers stay below 400 MiB, for 0.3 % more bits (BD rate, PSNR).
constexpr std::int64_t kLookaheadShare = 6, kLookaheadShareOfLarge = 8;
constexpr std::int64_t kLargePixels = 1'500'000;
constexpr int kLeastLookahead = 3;
constexpr int kX265Delay = 2;  // frames

// `frames` of the unit; 0 = unknown.
double Unspent(const EncoderSpec& spec, std::int64_t frames) {
  if (spec.low_delay) return UnspentLowDelay(FramesAssumed(frames, spec.fps));
  if (spec.codec == VideoCodec::kMpeg4) return kUnspentMpeg4;
  return UnspentX264(FramesAssumed(frames, spec.fps));
}

// As avcodec_open2.
Status OpenLibrary(AVCodecContext& context, const AVCodec* codec, VideoCodec kind) {
  const auto open = [&]() -> Status {
    const int ret = avcodec_open2(&context, codec, nullptr);
    return ret < 0 ? Status(av::AvError("The video encoder could not be opened", ret)) : OkStatus();
  };
  const int threads = ThreadsOfLibrary(kind);
  return threads > 0 ? UseThreads(threads, open) : open();
}

}  // namespace

bool OpensAhead(const EncoderSpec& spec) {
  return spec.rate_mode != RateMode::kBitrate || SteeredByCrf(spec);
}

bool IsLarge(const EncoderSpec& spec) {
  return std::int64_t{spec.width} * spec.height >= kLargePixels;
}

// Steering starts when the lookahead is full; in a short unit that would be too late.
int UnitLookahead(const EncoderSpec& spec, std::int64_t frames) {
  if (spec.low_delay) return 0;
  const int preset = PresetLookahead(spec.preset);
  const auto share =
      static_cast<int>(frames / (IsLarge(spec) ? kLookaheadShareOfLarge : kLookaheadShare));
  const bool looks_ahead = spec.codec == VideoCodec::kH264 && preset > 0;
  const bool steered = SteeredByCrf(spec) && spec.quality == Quality::kNormal;
  if (!steered || !looks_ahead || frames <= 0 || share >= preset) return kPresetLookahead;
  return std::max(share, kLeastLookahead);
}

std::int64_t FramesAhead(const EncoderSpec& spec, std::int64_t frames) {
  const int lookahead = UnitLookahead(spec, frames);
  const int own = spec.codec == VideoCodec::kH264 ? PresetLookahead(spec.preset) : 0;
  return static_cast<std::int64_t>(FramesHeld(spec)) +
         (lookahead == kPresetLookahead ? own : lookahead);
}

Result<std::unique_ptr<VideoEncoder>> VideoEncoder::Open(const EncoderSpec& spec,
                                                         std::int64_t frames) {
  if (FindEncoder(spec.codec) == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "This build has no encoder for the video codec.",
                 .parameter = "vcodec"};
  }
  std::unique_ptr<VideoEncoder> encoder(new VideoEncoder(spec));
  if (OpensAhead(spec)) {
    encoder->opened_ = encoder->OpenCodec(
        {.bps = spec.nominal_bps, .frames = frames, .lookahead = UnitLookahead(spec, frames)});
    GOPMILL_RETURN_IF_ERROR(encoder->opened_);
  }
  return encoder;
}

VideoEncoder::~VideoEncoder() { CloseCodec(); }

// SVT-AV1 (1.4) waits for its own threads for ever when it is closed before it was told the end, or
// told the end before it had a frame, or its packets are not fetched. So it gets all three: on a
// cancelled unit that costs the frames in its lookahead.
void VideoEncoder::CloseCodec() {
  const bool gated = context_ != nullptr && spec_.codec == VideoCodec::kAv1;
  if (gated && opened_.ok()) {
    const av::Packet packet = av::NewPacket();
    PassGate();
    if (!fed_frame_) {
      const av::Frame frame = av::NewFrame();
      frame->format = spec_.pixel_format;
      frame->width = spec_.width;
      frame->height = spec_.height;
      if (av_frame_get_buffer(frame.get(), 0) >= 0) {
        avcodec_send_frame(context_.get(), frame.get());
      }
    }
    if (!fed_end_) avcodec_send_frame(context_.get(), nullptr);
    while (avcodec_receive_packet(context_.get(), packet.get()) >= 0) av_packet_unref(packet.get());
  }
  closed_cpu_ = own_threads_cpu();
  threads_ = {};
  if (gated) Av1Gate::Instance().BeginClosing();
  context_.reset();
  if (gated) Av1Gate::Instance().EndClosing();
  if (std::exchange(passed_gate_, false)) Av1Gate::Instance().EndEncoding();
}

// Before the first frame.
void VideoEncoder::PassGate() {
  if (spec_.codec != VideoCodec::kAv1 || std::exchange(passed_gate_, true)) return;
  Av1Gate::Instance().BeginEncoding();
}

Status VideoEncoder::OpenCodec(const UnitSettings& unit) {
  CloseCodec();
  received_ = false;
  lookahead_ = unit.lookahead;
  const AVCodec* codec = FindEncoder(spec_.codec);
  context_.reset(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context_ != nullptr);
  GOPMILL_RETURN_IF_ERROR(ApplySettings(spec_, unit, *context_));
  const bool gated = spec_.codec == VideoCodec::kAv1;
  if (gated) Av1Gate::Instance().BeginOpening();
  Status opened;
  const auto open = [&] { opened = OpenLibrary(*context_, codec, spec_.codec); };
  if (ThreadsOfLibrary(spec_.codec) > 0 || spec_.threads > 1) {
    threads_.Watch(open);
  } else {
    open();
  }
  if (gated) Av1Gate::Instance().EndOpening();
  // libavcodec 5.1 does not tell it for x265, all of whose presets have a B pyramid.
  if (spec_.codec == VideoCodec::kHevc) context_->has_b_frames = spec_.b_frames ? kX265Delay : 0;
  return opened;
}

void VideoEncoder::OpenIfNot() {
  if (context_ == nullptr) opened_ = OpenCodec({.bps = spec_.nominal_bps});
}

void VideoEncoder::SetRate(const RateAim& aim, std::int64_t frames) {
  if (spec_.rate_mode != RateMode::kBitrate) return;
  const auto bps = static_cast<std::int64_t>(aim.bps);
  if (!SteeredByCrf(spec_)) {
    opened_ = OpenCodec({.bps = bps, .frames = frames});
    return;
  }
  control_.emplace(
      RateControl::Unit{spec_.width, spec_.height, spec_.fps, aim, frames, Unspent(spec_, frames)});
  const int wanted = UnitLookahead(spec_, frames);
  if (context_ == nullptr || wanted != lookahead_) {
    opened_ = OpenCodec({.bps = bps, .frames = frames, .lookahead = wanted});
  }
}

void VideoEncoder::SetConstantQuality(double crf, std::int64_t frames) {
  constant_quality_ = true;
  if (context_ == nullptr || lookahead_ != kPresetLookahead) {
    opened_ =
        OpenCodec({.bps = spec_.nominal_bps, .frames = frames, .lookahead = kPresetLookahead});
  }
  if (opened_.ok()) opened_ = SetCrf(*context_, crf);
}

// Gives the codec its next frame, or the end when there is none left.
Status VideoEncoder::Feed() {
  PassGate();
  int ret = 0;
  if (held_.empty()) {
    fed_end_ = true;
    ret = avcodec_send_frame(context_.get(), nullptr);
  } else {
    const av::Frame frame = std::move(held_.front());
    held_.pop_front();
    if (control_) GOPMILL_RETURN_IF_ERROR(SetCrf(*context_, control_->crf()));
    frame->quality = context_->global_quality;
    fed_frame_ = true;
    ret = avcodec_send_frame(context_.get(), frame.get());
  }
  return ret < 0 ? Status(av::AvError("The video encoder refused a frame", ret)) : OkStatus();
}

const AVCodecContext& VideoEncoder::context() {
  OpenIfNot();
  return *context_;
}

int VideoEncoder::reorder_delay() { return context().has_b_frames; }

Status VideoEncoder::Send(const AVFrame* frame) {
  OpenIfNot();
  GOPMILL_RETURN_IF_ERROR(opened_);
  if (frame == nullptr) {
    draining_ = true;
    return Feed();
  }
  av::Frame copy = av::Ref(*frame);
  // An encoder takes this as an order; here it is what the source happened to be.
  copy->pict_type = AV_PICTURE_TYPE_NONE;
  if (SteeredByCrf(spec_) && !constant_quality_) {
    if (!control_) {
      const RateAim aim{.bps = static_cast<double>(spec_.nominal_bps)};
      control_.emplace(
          RateControl::Unit{spec_.width, spec_.height, spec_.fps, aim, 0, Unspent(spec_, 0)});
    }
    control_->Observe(*copy);
  }
  held_.push_back(std::move(copy));
  return held_.size() > FramesHeld(spec_) ? Feed() : OkStatus();
}

Result<bool> VideoEncoder::Receive(AVPacket& packet) {
  GOPMILL_CHECK(context_ != nullptr);
  int ret = avcodec_receive_packet(context_.get(), &packet);
  while (ret == AVERROR(EAGAIN) && draining_ && !fed_end_) {
    GOPMILL_RETURN_IF_ERROR(Feed());
    ret = avcodec_receive_packet(context_.get(), &packet);
  }
  if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) return false;
  if (ret < 0) return av::AvError("The video encoder failed", ret);
  if (control_) {
    // The text is no part of the picture, and goes out once per stream only.
    const std::int64_t text = received_ ? 0 : EncoderInfoBytes(packet);
    control_->Coded(packet.size - text, packet.pts);
  }
  received_ = true;
  return true;
}

Result<std::shared_ptr<const AVCodecParameters>> EncoderParameters(VideoEncoder& encoder) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  GOPMILL_CHECK(parameters != nullptr);
  const AVCodecContext& context = encoder.context();
  GOPMILL_RETURN_IF_ERROR(encoder.opened());
  const int code = avcodec_parameters_from_context(parameters.get(), &context);
  if (code < 0) return av::AvError("The encoder's parameters could not be read", code);
  return std::shared_ptr<const AVCodecParameters>(std::move(parameters));
}

std::size_t VideoEncoder::footprint_bytes() const {
  const int picture = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec_.pixel_format),
                                               spec_.width, spec_.height, 64);
  return kEncoderBytes + PicturesHeld(spec_.codec) * static_cast<std::size_t>(std::max(picture, 0));
}

}  // namespace gopmill
