// SPDX-License-Identifier: Apache-2.0
//
// HDR10 metadata (SMPTE ST 2086, CTA-861.3) of a source, as it is kept: the bytes of FFmpeg's
// structures. A damaged source may say anything there, also fractions without a value (a float of
// Matroska that is infinite), and encoders that are given such a number refuse to open. So what
// cannot be written into a stream (Rec. ITU-T H.265 D.3.28, D.3.35) is left out when it is read:
// the picture is then as one without metadata, which players know how to show.
//
// Thread-safety: safe (pure functions).
#pragma once

extern "C" {
#include <libavcodec/codec_par.h>
#include <libavutil/mastering_display_metadata.h>
}

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gopmill {

// Whether the pictures have a high dynamic range (PQ or HLG), whatever else is known of it.
bool IsHdr(const AVCodecParameters& parameters);

// Steps in which streams count colours (of 0 to 1) and light (cd/m2).
inline constexpr double kChromaSteps = 50'000, kLuminanceSteps = 10'000;

// The primaries lie between 0 and 1; the luminance is one of 32 bits of steps, and the highest is
// above the lowest. Where one of the two is not so, its mark (has_primaries, has_luminance) is
// taken away. Nothing if there are too few bytes, or neither is left.
std::optional<AVMasteringDisplayMetadata> MasteringDisplayOf(std::span<const std::uint8_t> bytes);
// Nothing if there are too few bytes, or a level has more than 16 bits.
std::optional<AVContentLightMetadata> ContentLightOf(std::span<const std::uint8_t> bytes);

// The bytes of what was found; none of nothing.
template <class T>
std::vector<std::uint8_t> KeptBytes(const std::optional<T>& found) {
  if (!found) return {};
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&*found);
  return {begin, begin + sizeof(T)};
}

}  // namespace gopmill
