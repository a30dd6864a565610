// SPDX-License-Identifier: Apache-2.0
//
// What the pictures themselves say of how many bits they will take: detail, change, and noise.
//
// Every eighth row of the luma is looked at. Noise (film grain, sensor noise) is what no encoder
// can predict from another picture, unlike movement, and comes everywhere: it is the change from
// the picture before that neighbours do not share, in the calmest tenth of the picture's changing
// parts.
//
// Guarantee: a pure function of the pictures. Units: 8-bit steps whatever the depth.
// Thread-safety: safe (pure functions).
#pragma once

#include "media/av_ptr.h"

namespace gopmill {

// Mean difference of a pixel to its right and to its lower neighbour.
double SpatialActivity(const AVFrame& frame);

struct PictureChange {
  double mean = 0;   // of the difference of a pixel to the same of the picture before
  double noise = 0;  // of the differences between neighbours' differences, see above
  double noisy = 0;  // part of the picture that has this noise: 0, or from 0.5 to 1
};
// Both of the same size and pixel format.
PictureChange ChangeBetween(const AVFrame& before, const AVFrame& frame);

}  // namespace gopmill
