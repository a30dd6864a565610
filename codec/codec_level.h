// SPDX-License-Identifier: Apache-2.0
//
// The H.264 or HEVC level of a stream. x264 and x265 would derive it from each unit's own bit rate,
// and units of one stream would then have different sequence parameter sets; so it is derived once,
// from the spec, with room for units above the mean rate.
//
// Thread-safety: compatible.
#pragma once

#include "codec/video_encoder.h"

namespace gopmill {

// level_idc (31 = level 3.1): the lowest whose limits on size, speed, pictures held and rate are
// kept; the highest there is when none fits.
int H264Level(const EncoderSpec& spec);
// The same on HEVC's scale, times ten (31 = level 3.1).
int HevcLevel(const EncoderSpec& spec);

// Most bits per second of that level; 0 = the codec's is not chosen here.
std::int64_t LevelRate(const EncoderSpec& spec);

}  // namespace gopmill
