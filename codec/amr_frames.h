// SPDX-License-Identifier: Apache-2.0
//
// How long a frame of AMR speech is. Phones put several (20 ms each) into one sample of 3GP;
// FFmpeg's decoders take the first of a packet and drop the others.
//
// Thread-safety: safe (pure function).
#pragma once

extern "C" {
#include <libavcodec/codec_id.h>
}

#include <array>
#include <cstddef>
#include <cstdint>

namespace gopmill {

inline constexpr int kAmrFrameMs = 20;

constexpr std::int64_t AmrFrameSamples(int sample_rate) {
  return std::int64_t{sample_rate} * kAmrFrameMs / 1000;
}

constexpr bool IsAmr(AVCodecID codec) {
  return codec == AV_CODEC_ID_AMR_NB || codec == AV_CODEC_ID_AMR_WB;
}

// Bytes of the frame that begins with `head`, that included (RFC 4867 section 5.3; bits by frame
// type in 3GPP TS 26.101 table 1a and TS 26.201 table 2).
constexpr int AmrFrameBytes(AVCodecID codec, std::uint8_t head) {
  constexpr std::array<std::uint8_t, 16> kNarrow{13, 14, 16, 18, 20, 21, 27, 32,
                                                 6,  1,  1,  1,  1,  1,  1,  1};
  constexpr std::array<std::uint8_t, 16> kWide{18, 24, 33, 37, 41, 47, 51, 59,
                                               61, 6,  1,  1,  1,  1,  1,  1};
  const std::size_t type = head >> 3U & 15U;
  return codec == AV_CODEC_ID_AMR_NB ? kNarrow[type] : kWide[type];
}

}  // namespace gopmill
