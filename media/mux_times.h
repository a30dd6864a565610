// SPDX-License-Identifier: Apache-2.0
//
// Packet times on their way into a container: checked, put on the container's clock, and, in
// Matroska, moved by the encoder priming that the file states.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_compat.h"

namespace gopmill {

// What the muxer knows of one track's times.
struct MuxTimes {
  Rational time_base;       // of the caller's packets
  Rational stream_base;     // of the container
  std::int64_t lead = 0;    // added to times before rounding, ticks of time_base
  std::int64_t offset = 0;  // added after it, ticks of stream_base
  std::optional<std::int64_t> first_dts, last_dts;  // of the caller's packets
  std::int64_t packets = 0;
};

// kInternal unless the packet has both times, pts >= dts, and a dts after the one before it.
Status CheckTimes(const MuxTimes& times, const AVPacket& packet);

// Puts the packet's times on the container's clock. The duration is a difference of rounded times,
// so that rounding never adds up.
void PlaceOnClock(const MuxTimes& times, AVPacket& packet);

// Sets lead and offset of Matroska's tracks; the header has been written.
//
// Blocks are given in whole milliseconds, not negative. Where the file states the priming of a
// track, readers subtract it: block time = pts + priming, rounded once. Where it does not (AAC,
// FFmpeg 5.1) all tracks move on by the priming together, which keeps them in sync.
Status PlaceMatroska(const AVFormatContext& context, std::vector<MuxTimes>& tracks);

}  // namespace gopmill
