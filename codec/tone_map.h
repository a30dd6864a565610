// SPDX-License-Identifier: Apache-2.0
//
// Pictures with a high dynamic range (PQ: SMPTE ST 2084, HLG: ITU-R BT.2100) in an output that has
// eight bits: they become SDR (BT.709), as the players of such outputs expect. Outputs with ten
// bits keep what the source has. Primaries and matrix are those that the source states, BT.2020
// where it states none.
//
// Each picture by itself, with the peak that the source's metadata states: nothing is measured, so
// units do not depend on each other. libzimg (zscale) does the light, FFmpeg's tonemap the curve
// (Hable's). Its arithmetic is floating point: the bytes are not promised across CPU models.
//
// Thread-safety: safe (plain values, pure functions).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "media/source_info.h"

namespace gopmill {

struct ToneMap {
  int transfer = 0;  // AVColorTransferCharacteristic of the input; 0 = nothing to be done
  double peak = 0;   // brightest light of the input, in units of 100 cd/m2
  // Of the input: AVColorPrimaries, and AVColorSpace of the pictures that ToneMapFilters get. All
  // known to zscale.
  int primaries = 9, matrix = 9;

  bool operator==(const ToneMap&) const = default;
  [[nodiscard]] bool needed() const { return transfer != 0; }
};

// `format`: AVPixelFormat of the output.
ToneMap ToneMapFor(const VideoInfo& video, int format);

// The filters, with their options, behind one that gave yuv420p10 in the source's colours.
std::vector<std::pair<const char*, std::string>> ToneMapFilters(const ToneMap& map);

}  // namespace gopmill
