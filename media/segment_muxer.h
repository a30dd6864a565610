// SPDX-License-Identifier: Apache-2.0
//
// Segments of one track, each by a muxer of its own, so that any one can be made alone: CMAF
// (ISO/IEC 23000-19; init segment plus one `moof`/`mdat` each) or MPEG transport streams.
//
// Times. CMAF: the track's own clock starts with its first decode time, `lead` before time 0 (the
// priming of an audio encoder, the reordering delay of a video encoder), so that a segment's `tfdt`
// is the sum of the durations before it; the init segment's edit list takes the lead off again.
// (Negative composition offsets, the other way, start late in FFmpeg's demuxer.) Transport streams:
// every time lies later by the muxer's delay, in all segments of all tracks alike.
//
// The bytes are a pure function of the arguments. Thread-safety: safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "media/mux_options.h"
#include "media/muxer.h"

namespace gopmill {

// By how much all times in a transport stream lie later: FFmpeg's muxer adds its delay twice.
inline constexpr std::int64_t kTsDelayTicks = 2 * kTsDelayMicroseconds * 9 / 100;  // of 90 kHz

// The init segment of a CMAF track. `lead`: ticks of the track's time base.
Result<std::string> MakeInitSegment(const MuxTrack& track, std::int64_t lead);

// Segment `number` (from 0) of the track, of packets with pts and dts on the output clock in the
// track's time base; the first one is where decoding can start. Container kMp4 or kTs.
Result<std::string> MakeSegment(Container container, const MuxTrack& track, std::int64_t lead,
                                std::int64_t number, std::vector<av::Packet> packets);

// A piece of a CMAF segment: one `moof`/`mdat`, with the segment type box in front if it is the
// segment's first. `sequence` counts the pieces of the track from 0.
Result<std::string> MakeChunk(const MuxTrack& track, std::int64_t lead, std::int64_t sequence,
                              bool first, std::vector<av::Packet> packets);

}  // namespace gopmill
