// SPDX-License-Identifier: Apache-2.0
#include "codec/scaling.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavutil/pixdesc.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gopmill {
namespace {

const AVPixFmtDescriptor& Descriptor(int format) {
  const AVPixFmtDescriptor* found = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  GOPMILL_CHECK(found != nullptr);
  return *found;
}

// zimg refuses kernels that are wider than the picture.
constexpr int kLeastSide = 16;
bool ZimgTakes(Size size) {
  return size.width % 2 == 0 && size.height % 2 == 0 &&
         std::min(size.width, size.height) >= kLeastSide;
}

// zscale numbers the places of chroma from 0, and takes "left" where nothing is said.
int ZscaleChroma(int location) { return std::max(0, location - 1); }

bool ScaledByZimg(const FilterSpec& spec, const Placement& place) {
  const bool planar420 = spec.format == AV_PIX_FMT_YUV420P || spec.format == AV_PIX_FMT_YUV420P10;
  const bool only_size = spec.in_format == spec.format && planar420 && !HasFullRange(spec) &&
                         !ChangesColors(spec) && !spec.temporal() && !spec.tone_map.needed();
  return only_size && place.scaled.width != place.crop.width && ZimgTakes(place.crop) &&
         ZimgTakes(place.scaled) && avfilter_get_by_name("zscale") != nullptr;
}

std::string ZscaleOptions(const FilterSpec& spec, const Placement& place) {
  return fmt::format(
      "w={}:h={}:filter=bicubic:param_a=0:param_b=0.6:dither=none:chromalin={}:chromal={}",
      place.scaled.width, place.scaled.height, ZscaleChroma(spec.in_chroma_location),
      ZscaleChroma(spec.in_chroma_location));
}

const char* RangeName(bool full) { return full ? "full" : "limited"; }

// The middle of the luma samples that share one of chroma, 2 ^ shift of them.
int MiddleChroma(int shift) { return (128 << shift) - 128; }

// Where chroma lies, in parts of 1/256 from one luma sample to the next; swscale's own guess is the
// middle, which is right for MPEG-1 and JPEG alone. "Left" where nothing is said, as in zscale.
std::string SwscaleChroma(const char* side, int format, int location) {
  const bool centred = location == AVCHROMA_LOC_CENTER || location == AVCHROMA_LOC_TOP ||
                       location == AVCHROMA_LOC_BOTTOM;
  const bool top = location == AVCHROMA_LOC_TOPLEFT || location == AVCHROMA_LOC_TOP;
  const bool bottom = location == AVCHROMA_LOC_BOTTOMLEFT || location == AVCHROMA_LOC_BOTTOM;
  const int wide = Descriptor(format).log2_chroma_w, high = Descriptor(format).log2_chroma_h;
  std::string options;
  if (wide > 0) {
    options += fmt::format(":{}_h_chr_pos={}", side, centred ? MiddleChroma(wide) : 0);
  }
  if (high > 0) {
    const int vertical = top ? 0 : bottom ? 2 * MiddleChroma(high) : MiddleChroma(high);
    options += fmt::format(":{}_v_chr_pos={}", side, vertical);
  }
  return options;
}

// The format that it writes: tone mapping wants more bits than the output has.
int ScaledFormat(const FilterSpec& spec) {
  return spec.tone_map.needed() ? AV_PIX_FMT_YUV420P10 : spec.format;
}

std::string ScaleOptions(const FilterSpec& spec, const Placement& place) {
  const int format = ScaledFormat(spec);
  std::string options =
      fmt::format("w={}:h={}:flags=bicubic+accurate_rnd+bitexact:out_range={}", place.scaled.width,
                  place.scaled.height, RangeName(MakesFullRange(spec)));
  options += SwscaleChroma("out", format, spec.in_chroma_location);
  if (HasRgb(spec)) {  // the matrix that tone mapping is told of
    const int matrix = spec.tone_map.needed() ? AVCOL_SPC_BT2020_NCL : MatrixMade(spec);
    return options + fmt::format(":out_color_matrix={}", MatrixName(matrix));
  }
  if (ChangesMatrix(spec)) {
    options += fmt::format(":in_color_matrix={}:out_color_matrix={}",
                           MatrixName(spec.in_color_space), MatrixName(spec.colors.matrix));
  }
  options += SwscaleChroma("in", spec.in_format, spec.in_chroma_location);
  options += fmt::format(":in_range={}", RangeName(HasFullRange(spec)));
  const bool fewer_bits =
      Descriptor(spec.in_format).comp[0].depth > Descriptor(format).comp[0].depth;
  if (fewer_bits) options += ":sws_dither=bayer";
  return options;
}

}  // namespace

bool HasRgb(const FilterSpec& spec) {
  return (Descriptor(spec.in_format).flags & AV_PIX_FMT_FLAG_RGB) != 0;
}

bool HasFullRange(const FilterSpec& spec) {
  return spec.in_color_range == AVCOL_RANGE_JPEG && !HasRgb(spec);
}

const char* MatrixName(int space) {
  switch (space) {
    case AVCOL_SPC_BT709: return "bt709";
    case AVCOL_SPC_FCC: return "fcc";
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return "smpte170m";
    case AVCOL_SPC_SMPTE240M: return "smpte240m";
    case AVCOL_SPC_BT2020_NCL: return "bt2020";
    default: return nullptr;
  }
}

bool ChangesMatrix(const FilterSpec& spec) {
  if (HasRgb(spec) || spec.tone_map.needed()) return false;
  const char* from = MatrixName(spec.in_color_space);
  const char* to = MatrixName(spec.colors.matrix);
  return from != nullptr && to != nullptr && std::string_view(from) != to;
}

bool ChangesColors(const FilterSpec& spec) {
  return HasFullRange(spec) != MakesFullRange(spec) || ChangesMatrix(spec);
}

Scaler ScalerFor(const FilterSpec& spec, const Placement& place) {
  if (ScaledByZimg(spec, place)) return {"zscale", ZscaleOptions(spec, place), true};
  return {"scale", ScaleOptions(spec, place), false};
}

av::Frame WithoutColors(const AVFrame& picture) {
  av::Frame plain = av::Ref(picture);
  plain->colorspace = AVCOL_SPC_UNSPECIFIED;
  plain->color_primaries = AVCOL_PRI_UNSPECIFIED;
  plain->color_trc = AVCOL_TRC_UNSPECIFIED;
  plain->chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  return plain;
}

void CopyColors(const AVFrame& picture, AVFrame& scaled) {
  scaled.colorspace = picture.colorspace;
  scaled.color_primaries = picture.color_primaries;
  scaled.color_trc = picture.color_trc;
  scaled.chroma_location = picture.chroma_location;
}

}  // namespace gopmill
