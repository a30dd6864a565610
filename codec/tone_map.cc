// SPDX-License-Identifier: Apache-2.0
#include "codec/tone_map.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/status.h"
#include "media/hdr_metadata.h"

namespace gopmill {
namespace {

// White of SDR, cd/m2.
constexpr double kWhite = 100;
// Where the source does not say how bright it gets: what most is graded for, and what HLG means.
constexpr double kUsualPeak = 1000 / kWhite;

double PeakOf(const VideoInfo& video) {
  const auto light = ContentLightOf(video.content_light);
  if (light && light->MaxCLL > 0) return light->MaxCLL / kWhite;
  const auto display = MasteringDisplayOf(video.mastering_display);
  if (display && display->has_luminance != 0) return av_q2d(display->max_luminance) / kWhite;
  return kUsualPeak;
}

// As zscale names them; null where it has none.
const char* PrimariesName(int primaries) {
  switch (primaries) {
    case AVCOL_PRI_BT709: return "bt709";
    case AVCOL_PRI_BT470M: return "bt470m";
    case AVCOL_PRI_BT470BG: return "bt470bg";
    case AVCOL_PRI_SMPTE170M: return "smpte170m";
    case AVCOL_PRI_SMPTE240M: return "smpte240m";
    case AVCOL_PRI_FILM: return "film";
    case AVCOL_PRI_BT2020: return "bt2020";
    case AVCOL_PRI_SMPTE428: return "smpte428";
    case AVCOL_PRI_SMPTE431: return "smpte431";
    case AVCOL_PRI_SMPTE432: return "smpte432";
    case AVCOL_PRI_EBU3213: return "ebu3213";
    default: return nullptr;
  }
}

const char* ZscaleMatrix(int matrix) {
  switch (matrix) {
    case AVCOL_SPC_BT709: return "bt709";
    case AVCOL_SPC_FCC: return "fcc";
    case AVCOL_SPC_BT470BG: return "bt470bg";
    case AVCOL_SPC_SMPTE170M: return "smpte170m";
    case AVCOL_SPC_SMPTE240M: return "smpte2400m";  // its own spelling
    case AVCOL_SPC_BT2020_NCL: return "bt2020nc";
    case AVCOL_SPC_ICTCP: return "ictcp";
    default: return nullptr;  // also RGB, whose scaler makes BT.2020's
  }
}

}  // namespace

ToneMap ToneMapFor(const VideoInfo& video, int format) {
  const AVPixFmtDescriptor* output = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  GOPMILL_CHECK(output != nullptr);
  const AVCodecParameters& source = *video.parameters;
  const bool pq = source.color_trc == AVCOL_TRC_SMPTE2084;
  if (output->comp[0].depth > 8) return {};
  if (!pq && source.color_trc != AVCOL_TRC_ARIB_STD_B67) return {};
  ToneMap map{.transfer = source.color_trc,
              .peak = pq ? std::clamp(PeakOf(video), 1.0, 100.0) : kUsualPeak};
  if (PrimariesName(source.color_primaries) != nullptr) map.primaries = source.color_primaries;
  // There are no others that libzimg takes with it.
  const bool odd = source.color_space == AVCOL_SPC_ICTCP && map.primaries != AVCOL_PRI_BT2020;
  if (ZscaleMatrix(source.color_space) != nullptr && !odd) map.matrix = source.color_space;
  return map;
}

std::vector<std::pair<const char*, std::string>> ToneMapFilters(const ToneMap& map) {
  const char* transfer = map.transfer == AVCOL_TRC_SMPTE2084 ? "smpte2084" : "arib-std-b67";
  return {
      {"zscale", fmt::format("tin={}:min={}:pin={}:rin=limited:t=linear:p=2020:npl={}", transfer,
                             ZscaleMatrix(map.matrix), PrimariesName(map.primaries), kWhite)},
      {"format", "pix_fmts=gbrpf32le"},
      {"zscale", "p=709"},
      {"tonemap", fmt::format("tonemap=hable:desat=0:peak={}", map.peak)},
      {"zscale", "t=709:m=709:r=limited:d=ordered"}};
}

}  // namespace gopmill
