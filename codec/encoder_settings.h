// SPDX-License-Identifier: Apache-2.0
//
// From enums to the option strings of FFmpeg's encoders: the only place that holds them. Every
// encoder runs with one thread, writes one key frame (the first) and no text about itself beyond
// what StripEncoderInfo takes out.
//
// Thread-safety: safe (tables and pure functions).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "codec/video_encoder.h"

struct AVCodec;
struct AVCodecContext;

namespace gopmill {

// The encoder of this build for `codec`; nullptr = none.
const AVCodec* FindEncoder(VideoCodec codec);

// Writes all of `spec` into a context that is about to be opened. `bps` is the unit's bit rate
// (kBitrate only). Fails if an option is unknown to this build's encoder.
Status ApplySettings(const EncoderSpec& spec, std::int64_t bps, AVCodecContext& context);

}  // namespace gopmill
