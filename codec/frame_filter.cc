// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_filter.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libavutil/rational.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "codec/picture.h"
#include "codec/scaling.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// Pictures a graph holds: one being written, one with the encoder, and yadif's neighbours.
constexpr std::size_t kPicturesHeld = 4;
constexpr std::size_t kGraphBytes = 1U << 20U;

constexpr double kOtherShape = 1.3;    // more than rounding a small picture to even sides makes
constexpr double kNoStrength = 0.001;  // hqdn3d takes 0 for its default

double LumaStrength(Denoise denoise) {
  switch (denoise) {
    case Denoise::kOff: break;
    case Denoise::kLight: return 6;
    case Denoise::kMedium: return 10;
    case Denoise::kStrong: return 16;
  }
  return kNoStrength;
}

// How far a pixel may differ in one picture, and in all on one side together, parts of the range.
std::pair<double, double> Likeness(Denoise strength) {
  switch (strength) {
    case Denoise::kOff: break;
    case Denoise::kLight: return {0.02, 0.04};
    case Denoise::kMedium: return {0.04, 0.08};
    case Denoise::kStrong: return {0.06, 0.16};
  }
  return {0, 0};
}

Size UprightSize(const FilterSpec& spec) {
  const bool turned = spec.rotation % 180 != 0;
  return turned ? Size{spec.in_height, spec.in_width} : Size{spec.in_width, spec.in_height};
}

Rational UprightAspect(const FilterSpec& spec) {
  const bool turned = spec.rotation % 180 != 0;
  return turned ? spec.in_sample_aspect.Inverse() : spec.in_sample_aspect;
}

Placement PlacementOf(const FilterSpec& spec) {
  return PlacePicture(UprightSize(spec), UprightAspect(spec), {spec.width, spec.height}, spec.fit);
}

bool NeedsNothing(const FilterSpec& spec) {
  const Size output{spec.width, spec.height};
  const Placement place = PlacementOf(spec);
  return !spec.temporal() && spec.denoise == Denoise::kOff && spec.rotation == 0 &&
         !spec.mirrored && !spec.tone_map.needed() && spec.in_format == spec.format &&
         !ChangesColors(spec) && place == Placement{.crop = output, .scaled = output};
}

// Containers know better than streams, but not of pictures that have changed since: in size, or
// from the aspect that the stream stated when it was opened.
Rational SampleAspectOf(const VideoInfo& video, const AVFrame& frame) {
  const AVRational own = frame.sample_aspect_ratio;
  AVRational stated = video.parameters->sample_aspect_ratio;
  // Other decoders say one where their streams stated none (AV1: square of each picture; FFV1).
  const AVCodecID codec = video.parameters->codec_id;
  const bool comparable = stated.num > 0 || codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC;
  if (stated.num <= 0) stated = {1, 1};  // as it is shown
  const bool changed = frame.width != video.width || frame.height != video.height ||
                       (comparable && av_cmp_q(own, stated) != 0);
  if (changed && own.num > 0 && own.den > 0) return av::AspectFromAv(own);
  return video.sample_aspect.positive() ? video.sample_aspect : Rational{1, 1};
}

// Nothing in VP8 tells the matrix, nor in parts of VP9, and FFmpeg's decoders name the same for
// all.
int MatrixOf(const VideoInfo& video, const AVFrame& frame) {
  const AVCodecParameters& source = *video.parameters;
  const bool guessed = source.codec_id == AV_CODEC_ID_VP8 || source.codec_id == AV_CODEC_ID_VP9;
  const bool stated = source.color_space != AVCOL_SPC_UNSPECIFIED;
  return guessed && stated && frame.colorspace != AVCOL_SPC_RGB ? source.color_space
                                                                : frame.colorspace;
}

// All that the plan asks for.
FilterSpec WholeSpec(const StreamPlan& plan, int out_format, const AVFrame& frame) {
  const VideoInfo& video = plan.source->video;
  const bool full_range = SaysFullRange(frame.format, frame.color_range);
  FilterSpec spec{
      .in_width = frame.width,
      .in_height = frame.height,
      .in_format = frame.format,
      .in_sample_aspect = SampleAspectOf(video, frame),
      .in_color_space = MatrixOf(video, frame),
      .in_color_range = full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG,
      .in_chroma_location = frame.chroma_location,
      .rotation = plan.rotation(),
      .mirrored = video.mirrored,
      .deinterlace = plan.deinterlace(),
      .degrain = plan.target.degrain,
      .width = plan.target.width,
      .height = plan.target.height,
      .format = out_format,
      .fit = plan.target.fit,
      .denoise = plan.target.denoise,
      .tone_map = ToneMapFor(video, out_format),
  };
  if (HasRgb(spec)) spec.tone_map.matrix = AVCOL_SPC_BT2020_NCL;  // as the scaler makes of it
  return spec;
}

}  // namespace

bool MakesFullRange(const FilterSpec& spec) {
  if (spec.tone_map.needed()) return false;
  if (spec.colors.range == AVCOL_RANGE_UNSPECIFIED) return HasFullRange(spec);
  return spec.colors.range == AVCOL_RANGE_JPEG;
}

PictureArea AreaOf(const FilterSpec& spec, const FilterSpec& source, Rational sample_aspect) {
  const Placement place = PlacementOf(spec);
  return {.area = {.x = place.pad_x,
                   .y = place.pad_y,
                   .width = place.scaled.width,
                   .height = place.scaled.height},
          .sample_aspect = sample_aspect.positive() ? sample_aspect : Rational{1, 1},
          .source = UprightSize(spec),
          .source_sample_aspect = UprightAspect(source)};
}

int MatrixMade(const FilterSpec& spec) {
  if (spec.tone_map.needed()) return AVCOL_SPC_BT709;
  if (ChangesMatrix(spec)) return spec.colors.matrix;
  if (!HasRgb(spec)) return spec.in_color_space;
  return MatrixName(spec.colors.matrix) != nullptr ? spec.colors.matrix : AVCOL_SPC_BT709;
}

FilterSpec TemporalPart(const StreamPlan& plan, const AVFrame& frame) {
  FilterSpec spec = WholeSpec(plan, frame.format, frame);
  spec.rotation = 0;
  spec.mirrored = false;
  spec.width = frame.width;
  spec.height = frame.height;
  spec.fit = Fit::kStretch;
  spec.denoise = Denoise::kOff;
  spec.tone_map = {};
  return spec;
}

FilterSpec SpatialPart(const StreamPlan& plan, Size size, int out_format,
                       const OutputColors& colors, const AVFrame& frame) {
  FilterSpec spec = WholeSpec(plan, out_format, frame);
  spec.width = size.width;
  spec.height = size.height;
  spec.deinterlace = Deinterlace::kOff;
  spec.degrain = Denoise::kOff;
  spec.colors = colors;
  return spec;
}

void KeepShape(FilterSpec& spec, Rational sample_aspect) {
  if (spec.fit != Fit::kFit || !sample_aspect.positive()) return;
  const bool turned = spec.rotation % 180 != 0;
  const Rational& stored = spec.in_sample_aspect;
  const Rational pixel = turned ? stored.Inverse() : stored;
  // In pixels of the output.
  const Rational in_output =
      Fitting({pixel.num * sample_aspect.den, pixel.den * sample_aspect.num});
  const Size upright = UprightSize(spec);
  const double shape = static_cast<double>(upright.width) / upright.height * in_output.ToDouble();
  const double room = static_cast<double>(spec.width) / spec.height;
  if (std::max(shape, room) <= kOtherShape * std::min(shape, room)) return;
  spec.fit = Fit::kPad;
  spec.in_sample_aspect = turned ? in_output.Inverse() : in_output;
}

Result<std::unique_ptr<FrameFilter>> FrameFilter::Open(const FilterSpec& spec) {
  std::unique_ptr<FrameFilter> filter(new FrameFilter(spec));
  if (NeedsNothing(spec)) return filter;
  // pts pass through unread; a time base is only needed to undo what yadif makes of it.
  GOPMILL_ASSIGN_OR_RETURN(filter->chain_,
                           FilterChain::Begin({.width = spec.in_width,
                                               .height = spec.in_height,
                                               .format = spec.in_format,
                                               .sample_aspect = spec.in_sample_aspect,
                                               .color_space = spec.in_color_space,
                                               .color_range = spec.in_color_range}));
  GOPMILL_RETURN_IF_ERROR(filter->AppendTemporal());
  GOPMILL_RETURN_IF_ERROR(filter->AppendGeometry());
  GOPMILL_RETURN_IF_ERROR(filter->chain_->Finish());
  return filter;
}

Status FrameFilter::AppendToneMap() {
  if (!spec_.tone_map.needed()) return OkStatus();
  GOPMILL_RETURN_IF_ERROR(AppendFormat(AV_PIX_FMT_YUV420P10));
  for (const auto& [name, options] : ToneMapFilters(spec_.tone_map)) {
    if (avfilter_get_by_name(name) == nullptr) {
      return Error{
          .code = Code::kUnsupported,
          .message = fmt::format("FFmpeg here has no filter {}, which pictures with a high "
                                 "dynamic range need for an output with eight bits.",
                                 name),
          .parameter = "profile",
          .accepted = "high10, or a codec with ten bits"};
    }
    GOPMILL_RETURN_IF_ERROR(chain_->Append(name, options.c_str()));
  }
  return OkStatus();
}

// hqdn3d with next to no strength in time: its tables are then zero there, and what it keeps of the
// picture before has no weight, so that units and warm graphs make no difference.
Status FrameFilter::AppendDenoise() {
  if (spec_.denoise == Denoise::kOff) return OkStatus();
  if (avfilter_get_by_name("hqdn3d") == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here has no filter hqdn3d, which denoising needs.",
                 .parameter = "denoise",
                 .accepted = "off"};
  }
  const double strength = LumaStrength(spec_.denoise);
  return chain_->Append(
      "hqdn3d", fmt::format("luma_spatial={}:chroma_spatial={}:luma_tmp={}:chroma_tmp={}", strength,
                            0.75 * strength, kNoStrength, kNoStrength)
                    .c_str());
}

// The mean of the same pixel in the pictures around, as far as they are alike: atadenoise looks at
// so many pictures on each side and at no others, unlike hqdn3d, which looks back without end.
Status FrameFilter::AppendTemporal() {
  if (spec_.deinterlace != Deinterlace::kOff) {
    const char* which = spec_.deinterlace == Deinterlace::kOn ? "all" : "interlaced";
    GOPMILL_RETURN_IF_ERROR(chain_->Append(
        "yadif", fmt::format("mode=send_frame:parity=auto:deint={}", which).c_str()));
  }
  if (spec_.degrain == Denoise::kOff) return OkStatus();
  if (avfilter_get_by_name("atadenoise") == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here has no filter atadenoise, which denoising in time needs.",
                 .parameter = "degrain",
                 .accepted = "off"};
  }
  const auto [one, all] = Likeness(spec_.degrain);
  return chain_->Append("atadenoise", fmt::format("s={0}:0a={1}:1a={1}:2a={1}:0b={2}:1b={2}:2b={2}",
                                                  2 * TemporalRadius(spec_.degrain) + 1, one, all)
                                          .c_str());
}

// Before it is scaled. Returns what the scaler gets.
Result<FilterSpec> FrameFilter::AppendTurning() {
  FilterSpec turned = spec_;
  turned.in_format = TurnableFormat(spec_);
  if (turned.in_format != spec_.in_format) {
    GOPMILL_RETURN_IF_ERROR(chain_->Append("scale", TurnableOptions(spec_).c_str()));
    GOPMILL_RETURN_IF_ERROR(AppendFormat(turned.in_format));
  }
  if (spec_.mirrored) GOPMILL_RETURN_IF_ERROR(chain_->Append("hflip", nullptr));
  if (spec_.rotation == 90) GOPMILL_RETURN_IF_ERROR(chain_->Append("transpose", "dir=clock"));
  if (spec_.rotation == 270) GOPMILL_RETURN_IF_ERROR(chain_->Append("transpose", "dir=cclock"));
  if (spec_.rotation == 180) {
    GOPMILL_RETURN_IF_ERROR(chain_->Append("hflip", nullptr));
    GOPMILL_RETURN_IF_ERROR(chain_->Append("vflip", nullptr));
  }
  return turned;
}

Status FrameFilter::AppendFormat(int format) {
  const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(format));
  return chain_->Append("format", fmt::format("pix_fmts={}", name).c_str());
}

Status FrameFilter::AppendGeometry() {
  const Placement place = PlacementOf(spec_);
  const Size output{spec_.width, spec_.height};
  GOPMILL_ASSIGN_OR_RETURN(const FilterSpec turned, AppendTurning());
  if (place.crop != UprightSize(spec_)) {
    const std::string crop = fmt::format("w={}:h={}:x={}:y={}", place.crop.width, place.crop.height,
                                         place.crop_x, place.crop_y);
    GOPMILL_RETURN_IF_ERROR(chain_->Append("crop", crop.c_str()));
  }
  if (place.scaled != place.crop || spec_.format != turned.in_format || ChangesColors(spec_)) {
    const Scaler scaler = ScalerFor(turned, place);
    GOPMILL_RETURN_IF_ERROR(chain_->Append(scaler.filter, scaler.options.c_str()));
    by_zimg_ = scaler.zimg;
  }
  // Behind the scaler: it costs more for each pixel.
  GOPMILL_RETURN_IF_ERROR(AppendToneMap());
  GOPMILL_RETURN_IF_ERROR(AppendFormat(spec_.format));
  GOPMILL_RETURN_IF_ERROR(AppendDenoise());
  if (place.scaled == output) return OkStatus();
  // The filter knows the black of limited range alone.
  if (MakesFullRange(spec_)) {
    full_range_bars_ = Rectangle{place.pad_x, place.pad_y, place.scaled.width, place.scaled.height};
  }
  return chain_->Append("pad", fmt::format("w={}:h={}:x={}:y={}:color=black", output.width,
                                           output.height, place.pad_x, place.pad_y)
                                   .c_str());
}

Result<bool> FrameFilter::Filter(const AVFrame* in, AVFrame& out) {
  av_frame_unref(&out);
  if (!chain_) {
    if (in == nullptr) return false;
    av::Ref(*in, out);
    return true;
  }
  if (spec_.degrain != Denoise::kOff) {
    if (in == nullptr) GOPMILL_RETURN_IF_ERROR(FeedTheShortRun());
    if (in != nullptr) last_ = ++fed_ < TemporalRadius(spec_.degrain) ? av::Ref(*in) : nullptr;
    if (drained_ && taken_ == fed_) return false;
  }
  const bool plain = by_zimg_ && in != nullptr;
  GOPMILL_RETURN_IF_ERROR(plain ? chain_->Feed(WithoutColors(*in).get()) : chain_->Feed(in));
  GOPMILL_ASSIGN_OR_RETURN(const bool got, chain_->Take(out));
  if (got) out.format = spec_.format;
  if (got && plain) CopyColors(*in, out);
  if (got && full_range_bars_) PaintBars(out, *full_range_bars_, AVCOL_RANGE_JPEG);
  taken_ += got ? 1 : 0;
  return got;
}

// A run with fewer pictures than atadenoise looks at on a side never leaves it: its last one is
// repeated, as the filter does itself at the end of longer ones.
Status FrameFilter::FeedTheShortRun() {
  if (std::exchange(drained_, true) || fed_ == 0) return OkStatus();
  for (auto n = static_cast<int>(fed_); n < TemporalRadius(spec_.degrain); ++n) {
    if (last_->pts != AV_NOPTS_VALUE) ++last_->pts;
    GOPMILL_RETURN_IF_ERROR(chain_->Feed(last_.get()));
  }
  return OkStatus();
}

std::size_t FrameFilter::footprint_bytes() const {
  if (!chain_) return 0;
  const int picture = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec_.format),
                                               spec_.width, spec_.height, 64);
  const int input = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec_.in_format),
                                             spec_.in_width, spec_.in_height, 64);
  const std::size_t held = kPicturesHeld * static_cast<std::size_t>(std::max(picture, 0));
  const std::size_t inputs = spec_.temporal() || spec_.rotation != 0 ? 3 : 0;
  return kGraphBytes + held + inputs * static_cast<std::size_t>(std::max(input, 0));
}

}  // namespace gopmill
