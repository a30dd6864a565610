// SPDX-License-Identifier: Apache-2.0
//
// MakeEncoderSpec: what of a plan the encoder needs, and which wishes no encoder can fulfil.
extern "C" {
#include <libavutil/pixdesc.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "codec/encoder_settings.h"
#include "codec/picture_geometry.h"
#include "codec/scaling.h"
#include "codec/tone_map.h"
#include "codec/video_encoder.h"
#include "media/resolve_target.h"

namespace gopmill {
namespace {

// Output pixel format: 8 or 10 bits, always 4:2:0.
Result<int> PixelFormat(const Target& target, int source_bits) {
  const Profile profile = target.profile;
  GOPMILL_RETURN_IF_ERROR(CheckProfile(target.vcodec, profile));
  const int kept = source_bits > 8 ? AV_PIX_FMT_YUV420P10 : AV_PIX_FMT_YUV420P;
  switch (target.vcodec) {
    case VideoCodec::kH264:
      return profile == Profile::kHigh10 ? AV_PIX_FMT_YUV420P10 : AV_PIX_FMT_YUV420P;
    case VideoCodec::kHevc:
      if (profile == Profile::kAuto) return kept;
      return profile == Profile::kMain10 ? AV_PIX_FMT_YUV420P10 : AV_PIX_FMT_YUV420P;
    case VideoCodec::kAv1:  // its profile Main covers 8 and 10 bits
    case VideoCodec::kVp9: return kept;
    case VideoCodec::kMpeg4: return AV_PIX_FMT_YUV420P;
  }
  return InternalError("An unknown video codec was asked for.");
}

Status CheckFrameRate(const Target& target) {
  constexpr std::int64_t kMpeg4LargestClock = 65'535;
  if (target.vcodec == VideoCodec::kMpeg4 && target.fps.num > kMpeg4LargestClock) {
    return InvalidArgument("fps", "MPEG-4 cannot express this frame rate.",
                           "rates whose numerator is at most 65535");
  }
  return OkStatus();
}

// Colour description of the output: the source's, which the filter converts other pictures to.
void CopyColor(const AVCodecParameters& source, EncoderSpec& spec) {
  const auto format = static_cast<AVPixelFormat>(source.format);
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  spec.color_primaries = source.color_primaries;
  spec.color_trc = source.color_trc;
  spec.color_space = source.color_space;
  const bool full_range = SaysFullRange(source.format, source.color_range);
  spec.color_range = full_range ? AVCOL_RANGE_JPEG : source.color_range;
  // Players take what states no range for limited.
  const bool gray = IsGray(source.format) && source.color_range == AVCOL_RANGE_UNSPECIFIED;
  if (gray) spec.color_range = AVCOL_RANGE_MPEG;
  spec.chroma_location = source.chroma_location;
  if (descriptor == nullptr || (descriptor->flags & AV_PIX_FMT_FLAG_RGB) == 0) return;
  spec.color_space = AVCOL_SPC_BT709;
  spec.color_range = AVCOL_RANGE_MPEG;
}

// What the filter makes of a high dynamic range.
void BecomeSdr(EncoderSpec& spec) {
  spec.color_primaries = AVCOL_PRI_BT709;
  spec.color_trc = AVCOL_TRC_BT709;
  spec.color_space = AVCOL_SPC_BT709;
  spec.color_range = AVCOL_RANGE_MPEG;
  spec.mastering_display.clear();
  spec.content_light.clear();
}

Rational SampleAspect(const StreamPlan& plan, Size output) {
  const VideoInfo& video = plan.source->video;
  const Rational aspect = video.sample_aspect.positive() ? video.sample_aspect : Rational{1, 1};
  if (plan.rotation() % 180 == 0) {
    return OutputSampleAspect({video.width, video.height}, aspect, output, plan.target.fit);
  }
  return OutputSampleAspect({video.height, video.width}, aspect.Inverse(), output, plan.target.fit);
}

}  // namespace

Result<EncoderSpec> MakeEncoderSpec(const StreamPlan& plan) {
  const Target& target = plan.target;
  const VideoInfo& video = plan.source->video;
  if (FindEncoder(target.vcodec) == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = fmt::format("This build has no {} encoder.", Name(target.vcodec)),
                 .parameter = "vcodec"};
  }
  GOPMILL_RETURN_IF_ERROR(CheckFrameRate(target));
  EncoderSpec spec{.codec = target.vcodec,
                   .preset = target.preset,
                   .profile = target.profile,
                   .width = target.width,
                   .height = target.height,
                   .fps = target.fps,
                   .sample_aspect = SampleAspect(plan, {target.width, target.height}),
                   .rate_mode = target.rate_mode,
                   .quality = target.quality,
                   .low_delay = plan.low_delay,
                   .b_frames = target.b_frames,
                   .nominal_bps = target.bitrate,
                   .maxrate = target.maxrate,
                   .bufsize = target.bufsize,
                   .crf = target.crf,
                   .qp = target.qp,
                   .global_header = target.container != Container::kTs,
                   .mastering_display = video.mastering_display,
                   .content_light = video.content_light};
  GOPMILL_ASSIGN_OR_RETURN(spec.pixel_format, PixelFormat(target, video.bit_depth));
  CopyColor(*video.parameters, spec);
  if (ToneMapFor(video, spec.pixel_format).needed()) BecomeSdr(spec);
  if (HasLimitedRange(target.vcodec) && spec.color_range == AVCOL_RANGE_JPEG) {
    spec.color_range = AVCOL_RANGE_MPEG;
  }
  return spec;
}

bool HasTenBits(const EncoderSpec& spec) { return spec.pixel_format == AV_PIX_FMT_YUV420P10; }

EncoderSpec WithLessSearch(const EncoderSpec& spec) {
  EncoderSpec faster = spec;
  // The quickest preset searches less still.
  faster.faster = spec.codec == VideoCodec::kH264 && spec.preset != Preset::kUltrafast;
  return faster;
}

std::optional<EncoderSpec> WithHalfSize(const EncoderSpec& spec, const StreamPlan& plan) {
  const bool may_change = spec.codec == VideoCodec::kH264 || spec.codec == VideoCodec::kHevc;
  const Size half{spec.width / 4 * 2, spec.height / 4 * 2};
  if (spec.global_header || !may_change) return std::nullopt;
  if (std::min(half.width, half.height) < kLeastSide) return std::nullopt;
  EncoderSpec smaller = spec;
  smaller.width = half.width;
  smaller.height = half.height;
  smaller.sample_aspect = SampleAspect(plan, half);
  return smaller;
}

EncoderSpec WithOneThread(const EncoderSpec& spec) {
  EncoderSpec alone = spec;
  alone.threads = 1;
  return alone;
}

int ThreadsWorthwhile(const EncoderSpec& spec) {
  const bool steered = spec.codec == VideoCodec::kH264 && spec.rate_mode == RateMode::kBitrate &&
                       spec.quality == Quality::kNormal;
  constexpr int kFewPixels = 480 * 270;
  // While two are coded, the next one is decoded and looked at, which takes about as long.
  constexpr int kThreads = 3;
  return steered && spec.width * spec.height >= kFewPixels ? kThreads : 1;
}

}  // namespace gopmill
