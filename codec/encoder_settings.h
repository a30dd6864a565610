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

// Whether kBitrate is met by steering the encoder's CRF (codec/rate_control) instead of by the
// encoder's own control: x264 and MPEG-4, which take a new one with every frame.
bool SteeredByCrf(const EncoderSpec& spec);
// Changes the CRF of an open encoder from its next frame on.
Status SetCrf(AVCodecContext& context, double crf);

// Frames x264 looks ahead with this preset.
int PresetLookahead(Preset preset);
inline constexpr int kPresetLookahead = -1;

struct UnitSettings {
  std::int64_t bps = 0;              // the unit's bit rate (kBitrate only)
  std::int64_t frames = 0;           // in the unit; 0 = unknown
  int lookahead = kPresetLookahead;  // frames; x264 only
};
// Writes all of `spec` into a context that is about to be opened. Fails if an option is unknown to
// this build's encoder.
Status ApplySettings(const EncoderSpec& spec, const UnitSettings& unit, AVCodecContext& context);

}  // namespace gopmill
