// SPDX-License-Identifier: Apache-2.0
//
// What encoders write besides pictures: x264's and x265's text about themselves (a user data SEI of
// a few hundred bytes in front of every unit's first picture; it goes out once per stream), and the
// parameter sets, which must be the same in every unit.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>

#include "media/av_ptr.h"

namespace gopmill {

// Bytes of the encoder's text in such a packet; 0 = it has none.
std::int64_t EncoderInfoBytes(const AVPacket& packet);

// Removes the encoder's text from an H.264 or HEVC packet, with start codes or four-byte lengths.
// Other packets and other SEI messages stay as they are. True = something was removed.
bool StripEncoderInfo(AVPacket& packet);

// Hash of the parameter sets in the context's extradata, the encoder's text excluded. Equal for all
// units of a stream, or they cannot be joined. Without global headers: the hash of nothing.
std::uint64_t ParameterSetHash(const AVCodecContext& context);

// Hash of the parameter sets inside a packet (H.264: SPS, PPS; HEVC: VPS, SPS, PPS), as containers
// without a header of their own carry them. 0 = it holds none, or the codec has no such units.
std::uint64_t InBandParameterSetHash(const AVPacket& packet, AVCodecID codec);

}  // namespace gopmill
