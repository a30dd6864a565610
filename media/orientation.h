// SPDX-License-Identifier: Apache-2.0
//
// How the picture of a source is turned for display. Containers say it by a matrix (ISO/IEC
// 14496-12 section 8.5.3, FFmpeg's AV_PKT_DATA_DISPLAYMATRIX) that could shear and scale as well;
// of it the nearest quarter turn is taken, and whether the picture is mirrored.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <span>

namespace gopmill {

struct Orientation {
  int rotation = 0;       // clockwise degrees to turn the picture upright: 0, 90, 180, 270
  bool mirrored = false;  // before that
  bool operator==(const Orientation&) const = default;
};

// Of nine numbers of 32 bits as FFmpeg has them. Upright where there are fewer, and where they tell
// no direction.
Orientation OrientationOf(std::span<const std::uint8_t> matrix);

}  // namespace gopmill
