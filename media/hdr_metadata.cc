// SPDX-License-Identifier: Apache-2.0
#include "media/hdr_metadata.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gopmill {
namespace {

template <class T>
std::optional<T> FromBytes(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

bool Positive(AVRational value) { return value.den > 0 && value.num >= 0; }

bool UsablePoint(const AVRational (&xy)[2]) {
  return std::ranges::all_of(
      xy, [](AVRational value) { return Positive(value) && value.num <= value.den; });
}

bool UsablePrimaries(const AVMasteringDisplayMetadata& display) {
  return std::ranges::all_of(display.display_primaries, UsablePoint) &&
         UsablePoint(display.white_point);
}

bool UsableLuminance(const AVMasteringDisplayMetadata& display) {
  if (!Positive(display.min_luminance) || !Positive(display.max_luminance)) return false;
  const auto steps = [](AVRational value) { return std::round(av_q2d(value) * kLuminanceSteps); };
  const double lowest = steps(display.min_luminance), highest = steps(display.max_luminance);
  return lowest < highest && highest <= UINT32_MAX;
}

}  // namespace

bool IsHdr(const AVCodecParameters& parameters) {
  return parameters.color_trc == AVCOL_TRC_SMPTE2084 ||
         parameters.color_trc == AVCOL_TRC_ARIB_STD_B67;
}

std::optional<AVMasteringDisplayMetadata> MasteringDisplayOf(std::span<const std::uint8_t> bytes) {
  auto display = FromBytes<AVMasteringDisplayMetadata>(bytes);
  if (!display) return std::nullopt;
  if (!UsablePrimaries(*display)) display->has_primaries = 0;
  if (!UsableLuminance(*display)) display->has_luminance = 0;
  if (display->has_primaries == 0 && display->has_luminance == 0) return std::nullopt;
  return display;
}

std::optional<AVContentLightMetadata> ContentLightOf(std::span<const std::uint8_t> bytes) {
  auto light = FromBytes<AVContentLightMetadata>(bytes);
  if (light && (light->MaxCLL > UINT16_MAX || light->MaxFALL > UINT16_MAX)) light.reset();
  return light;
}

}  // namespace gopmill
