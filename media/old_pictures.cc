// SPDX-License-Identifier: Apache-2.0
#include "media/old_pictures.h"

namespace gopmill {
namespace {

using Bytes = std::span<const std::uint8_t>;

// `count` bits from bit `at` on. What lies behind the end is 1: no type of a picture of its own.
unsigned Bits(Bytes data, std::size_t at, std::size_t count) {
  unsigned value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    const bool inside = i / 8 < data.size();
    value = value << 1U | (inside ? data[i / 8] >> (7 - i % 8) & 1U : 1U);
  }
  return value;
}

bool H263IsIntra(Bytes data) {
  constexpr unsigned kExtended = 7;
  if (Bits(data, 35, 3) != kExtended) return Bits(data, 38, 1) == 0;
  // An extended header states its options (18 bits) in front of the type, or only the type.
  const bool full = Bits(data, 38, 3) == 1;
  return Bits(data, full ? 59 : 41, 3) == 0;
}

// The first bit of its range decoder, which begins with a range of 0xff00 and even odds.
bool Ffv1IsIntra(Bytes data) { return data.size() >= 2 && Bits(data, 0, 16) >= 0x7f80; }

bool SorensonIsIntra(Bytes data) {
  const unsigned size = Bits(data, 30, 3);
  const std::size_t stated = size == 0 ? 16 : size == 1 ? 32 : 0;  // bits of width and height
  return Bits(data, 33 + stated, 2) == 0;
}

}  // namespace

std::optional<bool> OldPictureIsIntra(AVCodecID codec, Bytes payload) {
  switch (static_cast<int>(codec)) {
    case AV_CODEC_ID_H263: return H263IsIntra(payload);
    case AV_CODEC_ID_FLV1: return SorensonIsIntra(payload);
    case AV_CODEC_ID_MSMPEG4V2:
    case AV_CODEC_ID_MSMPEG4V3:
    case AV_CODEC_ID_WMV1: return Bits(payload, 0, 2) == 0;
    case AV_CODEC_ID_WMV2:
    case AV_CODEC_ID_VP6:
    case AV_CODEC_ID_VP6F: return Bits(payload, 0, 1) == 0;
    case AV_CODEC_ID_VP6A: return Bits(payload, 24, 1) == 0;  // behind where alpha begins
    case AV_CODEC_ID_FFV1: return Ffv1IsIntra(payload);
    default: return std::nullopt;
  }
}

}  // namespace gopmill
