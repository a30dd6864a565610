// SPDX-License-Identifier: Apache-2.0
//
// From what was asked (TargetRequest) and what there is (SourceInfo) to a target with every field
// decided.
//
// Guarantees: a pure function, so the same request for the same source always gives the same
// target. What is impossible is an error that names the parameter and what would be accepted; what
// is possible in another value only is done and reported as an Adjustment; nothing changes
// silently.
//
// Defaults: the source's own display size, nominal frame rate and video bit rate; H.264 and AAC in
// MP4 (VP9 and Opus in WebM); stereo at most.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

struct ResolvedTarget {
  Target target;
  std::vector<Adjustment> adjustments;
};

Result<ResolvedTarget> ResolveTarget(const TargetRequest& request, const SourceInfo& source);

// What `profile` may be with a codec; kInvalidArgument that lists it for any other.
std::vector<Profile> ProfilesOf(VideoCodec codec);
Status CheckProfile(VideoCodec codec, Profile profile);

// Whether there may be B frames in what is asked for; `unless_said`, where it says nothing of them.
bool MayHaveBFrames(const TargetRequest& request, bool unless_said = true);

// The bit rate when none is asked for, bits per second:
//
//   source rate * min(1, output pixel rate / source pixel rate) ^ 0.75
//
// rounded down to whole kb/s, never above the source's own (re-encoding adds no quality), and at
// most half a bit per pixel (an intra-only source may have far more). Smaller pictures need more
// bits per pixel, hence the exponent. The source rate is that of its video stream, else of the file
// without its audio, else 0.1 bit per pixel.
std::int64_t DefaultBitrate(const SourceInfo& source, int width, int height, Rational fps);

}  // namespace gopmill
