// SPDX-License-Identifier: Apache-2.0
//
// How the Matroska muxer of the FFmpeg in use treats encoder priming. Versions differ: 5.1 writes
// the CodecDelay element for Opus only and leaves block times as they are, so that readers, which
// subtract the delay, show the sound early; later ones write it for all codecs and move the blocks.
// Asked by writing a packet to memory and looking, because the versions cannot be told by number.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "media/av_compat.h"

namespace gopmill {

struct MatroskaDelay {
  bool written = false;       // the file states the delay: readers subtract it from block times
  std::int64_t added_ms = 0;  // what the muxer adds to the times it is given
};

// Fills `delay` for an audio track with these parameters (initial_padding > 0).
Status AskMatroskaDelay(const AVCodecParameters& parameters, MatroskaDelay& delay);

}  // namespace gopmill
