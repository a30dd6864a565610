// SPDX-License-Identifier: Apache-2.0
//
// Which loudspeakers the channels of a coded sound are meant for. A layout is a set of them: the
// bits of AV_CH_*, which are those of WAVEFORMATEXTENSIBLE; 0 = not stated.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>

#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

// The source's layout; 0 where it states a number of channels alone, or something that is no set of
// loudspeakers.
std::uint64_t StatedLayout(const AudioInfo& audio);

// The layout of `channels` (1 to 8) in AAC or Opus: the source's where it has so many and the codec
// can say so, else the one of that number with the most loudspeakers of the source, else the usual
// one. `source`: the layout of what is coded.
std::uint64_t CodedLayout(AudioCodec codec, int channels, std::uint64_t source);

// Whether channels of the one can be handed on as those of the other: the same loudspeakers, but
// that a pair at the sides may be called a pair at the back (5.1 has both names).
bool SameSpeakers(std::uint64_t one, std::uint64_t other);

// FFmpeg's name: "5.1(side)".
std::string LayoutName(std::uint64_t layout);

}  // namespace gopmill
