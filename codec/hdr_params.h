// SPDX-License-Identifier: Apache-2.0
//
// HDR10 metadata as encoders take it: parts of their own option strings, "key=value" with a colon
// in front. Numbers are written so that no encoder refuses them; what cannot be written is left out
// (media/hdr_metadata.h), never cut off or rounded to something else.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>

#include "codec/video_encoder.h"
#include "media/hdr_metadata.h"

namespace gopmill {

// What an encoder calls the two, and the steps that it counts in.
struct HdrKeys {
  const char* display;
  const char* light;
  double chroma_scale, light_scale;
  int digits;  // behind the point
};

// x264 and x265 count in the steps of streams; SVT-AV1 takes plain fractions.
inline constexpr HdrKeys kX264Hdr{"mastering-display", "cll", kChromaSteps, kLuminanceSteps, 0};
inline constexpr HdrKeys kX265Hdr{"master-display", "max-cll", kChromaSteps, kLuminanceSteps, 0};
inline constexpr HdrKeys kSvtAv1Hdr{"mastering-display", "content-light", 1, 1, 6};

// ":display=G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min)" and ":light=MaxCLL,MaxFALL": each where the source
// has it.
std::string HdrParams(const EncoderSpec& spec, const HdrKeys& keys);

}  // namespace gopmill
