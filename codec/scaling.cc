// SPDX-License-Identifier: Apache-2.0
#include "codec/scaling.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavutil/pixdesc.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// Where a sample of chroma lies among the luma it belongs to: 0 on the first, 1 in the middle, 2 on
// the last.
struct ChromaPlace {
  int across = 0, down = 1;
  bool operator==(const ChromaPlace&) const = default;
};

// By AVChromaLocation; "left" where nothing is said, as in zscale.
constexpr std::array<ChromaPlace, 7> kChromaPlaces = {
    {{0, 1}, {0, 1}, {1, 1}, {0, 0}, {1, 0}, {0, 2}, {1, 2}}};

ChromaPlace PlaceOf(int location) {
  const auto index = static_cast<std::size_t>(location);
  return index < kChromaPlaces.size() ? kChromaPlaces[index] : ChromaPlace{};
}

// As the scaler meets it: it turns and mirrors with the picture.
ChromaPlace UprightPlace(const FilterSpec& spec) {
  const ChromaPlace own = PlaceOf(spec.in_chroma_location);
  const int across = spec.mirrored ? 2 - own.across : own.across;
  switch (spec.rotation) {
    case 90: return {2 - own.down, across};
    case 180: return {2 - across, 2 - own.down};
    case 270: return {own.down, 2 - across};
    default: return {across, own.down};
  }
}

// zscale numbers AVChromaLocation from 0; none is right of the middle.
std::optional<std::ptrdiff_t> ZscaleChroma(const ChromaPlace& place) {
  const auto* found = std::find(kChromaPlaces.begin() + 1, kChromaPlaces.end(), place);
  if (found == kChromaPlaces.end()) return std::nullopt;
  return found - kChromaPlaces.begin() - 1;
}

bool ScaledByZimg(const FilterSpec& spec, const Placement& place) {
  const bool planar420 = spec.format == AV_PIX_FMT_YUV420P || spec.format == AV_PIX_FMT_YUV420P10;
  const bool only_size = spec.in_format == spec.format && planar420 && !HasFullRange(spec) &&
                         !ChangesColors(spec) && !spec.temporal() && !spec.tone_map.needed();
  return only_size && place.scaled.width != place.crop.width && ZimgTakes(place.crop) &&
         ZimgTakes(place.scaled) && ZscaleChroma(UprightPlace(spec)) &&
         avfilter_get_by_name("zscale") != nullptr;
}

std::string ZscaleOptions(const FilterSpec& spec, const Placement& place) {
  return fmt::format(
      "w={}:h={}:filter=bicubic:param_a=0:param_b=0.6:dither=none:chromalin={}:chromal={}",
      place.scaled.width, place.scaled.height, ZscaleChroma(UprightPlace(spec)).value_or(0),
      ZscaleChroma(PlaceOf(spec.in_chroma_location)).value_or(0));
}

const char* RangeName(bool full) { return full ? "full" : "limited"; }

// The middle of the luma samples that share one of chroma, 2 ^ shift of them.
int MiddleChroma(int shift) { return (128 << shift) - 128; }

// Where chroma lies, in parts of 1/256 from one luma sample to the next; swscale's own guess is the
// middle, which is right for MPEG-1 and JPEG alone.
std::string SwscaleChroma(const char* side, int format, const ChromaPlace& place) {
  const int wide = Descriptor(format).log2_chroma_w, high = Descriptor(format).log2_chroma_h;
  std::string options;
  if (wide > 0) {
    options += fmt::format(":{}_h_chr_pos={}", side, place.across * MiddleChroma(wide));
  }
  if (high > 0) options += fmt::format(":{}_v_chr_pos={}", side, place.down * MiddleChroma(high));
  return options;
}

// The format that it writes: tone mapping wants more bits than the output has.
int ScaledFormat(const FilterSpec& spec) {
  return spec.tone_map.needed() ? AV_PIX_FMT_YUV420P10 : spec.format;
}

std::string ScaleOptions(const FilterSpec& spec, const Placement& place) {
  const int format = ScaledFormat(spec);
  std::string options =
      fmt::format("w={}:h={}:flags={}:out_range={}", place.scaled.width, place.scaled.height,
                  kExactScaling, RangeName(MakesFullRange(spec)));
  options += SwscaleChroma("out", format, PlaceOf(spec.in_chroma_location));
  if (HasRgb(spec)) {  // the matrix that tone mapping is told of
    const int matrix = spec.tone_map.needed() ? AVCOL_SPC_BT2020_NCL : MatrixMade(spec);
    return options + fmt::format(":out_color_matrix={}", MatrixName(matrix));
  }
  if (ChangesMatrix(spec)) {
    options += fmt::format(":in_color_matrix={}:out_color_matrix={}",
                           MatrixName(spec.in_color_space), MatrixName(spec.colors.matrix));
  }
  options += SwscaleChroma("in", spec.in_format, UprightPlace(spec));
  options += fmt::format(":in_range={}", RangeName(HasFullRange(spec)));
  const bool fewer_bits =
      Descriptor(spec.in_format).comp[0].depth > Descriptor(format).comp[0].depth;
  if (fewer_bits) options += ":sws_dither=bayer";
  return options;
}

}  // namespace

bool IsGray(int format) {
  const AVPixFmtDescriptor* own = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  constexpr std::uint64_t kOthers =
      AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM;
  const bool has_chroma = own == nullptr || own->nb_components > 2;
  return !has_chroma && (own->flags & kOthers) == 0;
}

bool SaysFullRange(int format, int range) {
  const bool gray_in_full = range == AVCOL_RANGE_UNSPECIFIED && IsGray(format);
  return gray_in_full || range == AVCOL_RANGE_JPEG || format == AV_PIX_FMT_YUVJ411P ||
         format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P ||
         format == AV_PIX_FMT_YUVJ440P || format == AV_PIX_FMT_YUVJ444P;
}

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

int MatrixMeant(int space, int lines) {
  constexpr int kMostSd = 576;
  if (space != AVCOL_SPC_UNSPECIFIED) return space;
  return lines > kMostSd ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
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

int TurnableFormat(const FilterSpec& spec) {
  const AVPixFmtDescriptor& own = Descriptor(spec.in_format);
  if (spec.rotation % 180 == 0 || own.log2_chroma_w == own.log2_chroma_h) return spec.in_format;
  const int depth = own.comp[0].depth;
  const auto name = depth > 8 ? fmt::format("yuv444p{}", depth) : std::string("yuv444p");
  const AVPixelFormat found = av_get_pix_fmt(name.c_str());
  return found == AV_PIX_FMT_NONE ? spec.in_format : found;
}

std::string TurnableOptions(const FilterSpec& spec) {
  return fmt::format("flags={0}:in_range={1}:out_range={1}{2}", kExactScaling,
                     RangeName(HasFullRange(spec)),
                     SwscaleChroma("in", spec.in_format, PlaceOf(spec.in_chroma_location)));
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
