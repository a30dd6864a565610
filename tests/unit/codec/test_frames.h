// SPDX-License-Identifier: Apache-2.0
//
// Pictures made in code, the same on every machine: a pattern that moves, texture, and noise from a
// fixed seed; plus the few steps that many codec tests share (encode all, decode all, hash).
#pragma once

#include <cstdint>
#include <vector>

#include "codec/video_encoder.h"
#include "media/av_ptr.h"

namespace gopmill::testing {

struct Scene {
  int width = 128, height = 96;
  int format = 0;  // AVPixelFormat; any planar YUV
  int noise = 6;   // amplitude in 8-bit steps
  // Frames between scene cuts; 0 = none.
  int cut_every = 0;
};

// Picture number `n` of the scene, pts = n.
av::Frame MakeFrame(const Scene& scene, int n);
// A picture of one colour (8-bit values), for marks to be drawn on.
av::Frame MakePlainFrame(int width, int height, int format, int y, int u, int v);
// Paints a rectangle of luma (8-bit value).
void PaintLuma(AVFrame& frame, int x, int y, int width, int height, int luma);
// Luma at a place, in 8-bit steps.
int LumaAt(const AVFrame& frame, int x, int y);

// Hash of the visible pixels; not of padding.
std::uint64_t PixelHash(const AVFrame& frame);
std::uint64_t PixelHash(const std::vector<av::Frame>& frames);
// Hash of data, pts, dts and flags.
std::uint64_t PacketHash(const std::vector<av::Packet>& packets);
std::int64_t TotalBits(const std::vector<av::Packet>& packets);

inline constexpr VideoCodec kAllCodecs[] = {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1,
                                            VideoCodec::kVp9, VideoCodec::kMpeg4};

// Nothing but a bit rate, bits per second.
inline void SetBitrate(VideoEncoder& encoder, std::int64_t bps, std::int64_t frames = 0) {
  encoder.SetRate({.bps = static_cast<double>(bps)}, frames);
}

// A spec with sensible values for tests: veryfast, 25 frames per second, 300 kb/s.
EncoderSpec SpecFor(VideoCodec codec, const Scene& scene);
// One unit: frames first .. first + count - 1 through one encoder; a failure fails the test. The
// second form ends with the parameters the decoder needs.
std::vector<av::Packet> EncodeUnit(const EncoderSpec& spec, std::int64_t bps, const Scene& scene,
                                   int first, int count);
struct EncodedUnit {
  std::vector<av::Packet> packets;
  av::CodecParameters parameters;
  int reorder_delay = 0;
};
EncodedUnit EncodeWithParameters(const EncoderSpec& spec, std::int64_t bps, const Scene& scene,
                                 int first, int count);

// Key pictures of 4:4:4 by x264, as it codes them today: squares that are plain, shaded or noise.
// The first one tells its build.
EncodedUnit Encode444(int pictures);

// A unit decoded on its own, in display order; a failure or damage fails the test.
std::vector<av::Frame> DecodeUnit(const EncodedUnit& unit, Rational time_base);

// Runs `encoder` over the frames to its end.
std::vector<av::Packet> Encode(VideoEncoder& encoder, const Scene& scene, int first, int count);

}  // namespace gopmill::testing
