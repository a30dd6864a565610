// SPDX-License-Identifier: Apache-2.0
#include "codec/hdr_params.h"

#include <fmt/format.h>

namespace gopmill {
namespace {

std::string MasteringDisplayText(const AVMasteringDisplayMetadata& metadata, const HdrKeys& keys) {
  const auto number = [&](AVRational value, double scale) {
    return fmt::format("{:.{}f}", av_q2d(value) * scale, keys.digits);
  };
  const auto point = [&](const AVRational(&xy)[2]) {
    return number(xy[0], keys.chroma_scale) + "," + number(xy[1], keys.chroma_scale);
  };
  const auto& rgb = metadata.display_primaries;
  return fmt::format("G({})B({})R({})WP({})L({},{})", point(rgb[1]), point(rgb[2]), point(rgb[0]),
                     point(metadata.white_point), number(metadata.max_luminance, keys.light_scale),
                     number(metadata.min_luminance, keys.light_scale));
}

}  // namespace

std::string HdrParams(const EncoderSpec& spec, const HdrKeys& keys) {
  std::string text;
  const auto display = MasteringDisplayOf(spec.mastering_display);
  if (display && display->has_primaries != 0 && display->has_luminance != 0) {
    text += fmt::format(":{}={}", keys.display, MasteringDisplayText(*display, keys));
  }
  if (const auto light = ContentLightOf(spec.content_light)) {
    text += fmt::format(":{}={},{}", keys.light, light->MaxCLL, light->MaxFALL);
  }
  return text;
}

}  // namespace gopmill
