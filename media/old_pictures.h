// SPDX-License-Identifier: Apache-2.0
//
// Whether a packet of an old codec (H.263, Sorenson Spark, Microsoft's MPEG-4, Windows Media 7 and
// 8) is a picture of its own, by the first bits of its header. FFmpeg marks each picture of H.263
// in AVI and Matroska as a key picture, and a cut at one that is not shows garbage.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "media/av_ptr.h"

namespace gopmill {

// Nothing where the codec is none of these. Sources: ITU-T H.263 5.1.3 and 5.1.4 (PTYPE,
// PLUSPTYPE); of the others, which nobody has published, FFmpeg's decoders (flvdec.c, msmpeg4dec.c,
// wmv2dec.c, vp56.c, ffv1dec.c).
std::optional<bool> OldPictureIsIntra(AVCodecID codec, std::span<const std::uint8_t> payload);

}  // namespace gopmill
