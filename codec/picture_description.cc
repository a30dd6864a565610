// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_description.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include "codec/scaling.h"
#include "codec/tone_map.h"

namespace gopmill {
namespace {

std::string NameOr(const char* name) { return name == nullptr ? "unknown" : name; }

// Null where the source does not tell its format.
const AVPixFmtDescriptor* FormatOf(int format) {
  return av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
}

void DescribeConversion(const VideoInfo& video, const EncoderSpec& encoder,
                        PictureDescription& description) {
  const AVPixFmtDescriptor* from = FormatOf(video.parameters->format);
  const AVPixFmtDescriptor* to = FormatOf(encoder.pixel_format);
  const auto add = [&description](bool is, const char* what) {
    if (is) description.converted.emplace_back(what);
  };
  const bool mapped = ToneMapFor(video, encoder.pixel_format).needed();
  add(mapped, "dynamic range");
  if (from == nullptr || to == nullptr) return;
  const bool rgb = (from->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  add(rgb, "RGB");
  add(!rgb &&
          (from->log2_chroma_w != to->log2_chroma_w || from->log2_chroma_h != to->log2_chroma_h),
      "chroma");
  add(from->comp[0].depth != to->comp[0].depth, "depth");
  const AVCodecParameters& stated = *video.parameters;
  add(!rgb && SaysFullRange(stated.format, stated.color_range) &&
          encoder.color_range != AVCOL_RANGE_JPEG,
      "range");
  // As the scaler is told to (codec/scaling): tone mapping has its own way down.
  description.dithered = !mapped && !rgb && from->comp[0].depth > to->comp[0].depth;
}

}  // namespace

PictureDescription DescribePictures(const VideoInfo& source, const EncoderSpec& encoder) {
  const auto format = static_cast<AVPixelFormat>(encoder.pixel_format);
  PictureDescription description{
      .pixel_format = NameOr(av_get_pix_fmt_name(format)),
      .primaries =
          NameOr(av_color_primaries_name(static_cast<AVColorPrimaries>(encoder.color_primaries))),
      .transfer = NameOr(
          av_color_transfer_name(static_cast<AVColorTransferCharacteristic>(encoder.color_trc))),
      .matrix = NameOr(av_color_space_name(static_cast<AVColorSpace>(encoder.color_space))),
      .range = NameOr(av_color_range_name(static_cast<AVColorRange>(encoder.color_range))),
      .sample_aspect = encoder.sample_aspect,
      .converted = {}};
  DescribeConversion(source, encoder, description);
  return description;
}

}  // namespace gopmill
