// SPDX-License-Identifier: Apache-2.0
//
// Which packets decoding can start at, read from the bitstream itself, since containers mark IDR
// and recovery points alike.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>

#include "media/av_ptr.h"

namespace gopmill {

enum class RandomAccess {
  kNone,      // needs earlier packets
  kRecovery,  // recovery point: exact from here on after one GOP of preroll
  // Open GOP or CRA: what is shown before it refers to what came before, the rest does not.
  kOpenGop,
  kClosed,  // IDR or closed GOP: nothing after it refers to anything before it
};

// Classifies one packet of a stream with these parameters. `key` is the container's key flag; a
// packet that is not flagged is only looked at for MPEG-1/2 and raw H.264/HEVC, whose parsers may
// miss it. Sources: ITU-T H.264 7.4.1.2.4 (IDR), D.2.8 (recovery point: exact where it says so and
// counts no frames), H.265 7.4.2.2 (IRAP types), ISO/IEC 13818-2 6.3.8 (closed_gop), ISO/IEC
// 14496-2 6.3.4 (closed_gov).
RandomAccess ClassifyPacket(const AVCodecParameters& parameters,
                            std::span<const std::uint8_t> payload, bool key);

}  // namespace gopmill
