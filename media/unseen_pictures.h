// SPDX-License-Identifier: Apache-2.0
//
// What need not be decoded of a stretch of packets that begins far in front of what is shown: the
// pictures that are not shown and that no other picture is predicted from. Those of H.264 with
// nal_ref_idc 0 (ITU-T H.264 7.4.1) in pictures without fields, and of HEVC with one temporal layer
// the sub-layer non-reference pictures (ITU-T H.265 table 7-1). A quarter to a half of the decoding
// time of what x264 and x265 make by default.
//
// Guarantee: a decoder yields the same pictures at the times that are shown, of a source that is
// not damaged, whether it has them or not. What is left out depends on the packets alone.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "media/av_ptr.h"
#include "media/plan.h"
#include "media/unit_planner.h"

namespace gopmill {

// Pictures kept in front of each stretch that is shown: some may not be decoded right, of those
// that a decoder puts out before it has seen what comes behind.
inline constexpr std::size_t kKeptInFront = kReorderSlack;

// Times of pictures, source ticks, that are shown: the latest one at or before `first`, and all
// behind it up to `last`, with the one that tells that they have come.
struct ShownTimes {
  SourceTicks first = 0, last = 0;
};

// Takes packets of a source out of `packets` (in decode order, with their times) that need not be
// decoded; looks at each packet once. Leaves all where a packet tells no time, the coding changes
// among them, there are several layers, or the header does not tell that pictures are reordered,
// and how far (H.264).
void LeaveOutUnseen(const AVCodecParameters& video, std::span<const ShownTimes> shown,
                    std::vector<av::Packet>& packets);

}  // namespace gopmill
