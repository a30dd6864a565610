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

}  // namespace

ToneMap ToneMapFor(const VideoInfo& video, int format) {
  const AVPixFmtDescriptor* output = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  GOPMILL_CHECK(output != nullptr);
  const int transfer = video.parameters->color_trc;
  if (output->comp[0].depth > 8) return {};
  if (transfer == AVCOL_TRC_ARIB_STD_B67) return {.transfer = transfer, .peak = kUsualPeak};
  if (transfer != AVCOL_TRC_SMPTE2084) return {};
  return {.transfer = transfer, .peak = std::clamp(PeakOf(video), 1.0, 100.0)};
}

std::vector<std::pair<const char*, std::string>> ToneMapFilters(const ToneMap& map) {
  const char* transfer = map.transfer == AVCOL_TRC_SMPTE2084 ? "smpte2084" : "arib-std-b67";
  return {{"zscale", fmt::format("tin={}:min=2020_ncl:pin=2020:rin=limited:t=linear:p=2020:npl={}",
                                 transfer, kWhite)},
          {"format", "pix_fmts=gbrpf32le"},
          {"zscale", "p=709"},
          {"tonemap", fmt::format("tonemap=hable:desat=0:peak={}", map.peak)},
          {"zscale", "t=709:m=709:r=limited:d=ordered"}};
}

}  // namespace gopmill
