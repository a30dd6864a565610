// SPDX-License-Identifier: Apache-2.0
//
// The size of the output picture, from what was asked and what the source shows.
//
// Guarantees: both sides are even and within kMinSide..kMaxSide; every value that differs from the
// one asked for is in `adjustments`. Output pixels are square: the source's sample aspect ratio and
// rotation are already applied here.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <vector>

#include "base/adjustment.h"
#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

// What the source looks like on a screen with square pixels, upright and turned by `rotate` degrees
// more; pixels, not rounded to even.
struct DisplaySize {
  Rational width, height;
};
DisplaySize DisplaySizeOf(const VideoInfo& video, int rotate = 0);

struct OutputSize {
  int width = 0, height = 0;
  std::vector<Adjustment> adjustments;
};
OutputSize ChooseOutputSize(const TargetRequest& request, const VideoInfo& video);

}  // namespace gopmill
