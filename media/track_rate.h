// SPDX-License-Identifier: Apache-2.0
//
// The bit rate of a track of the source. FFmpeg's demuxer of MP4 divides the bytes of the fragments
// that it has read by the length of the whole movie; where an index (sidx) tells it of the others,
// as in on-demand DASH and CMAF, that is the first one alone.
//
// Thread-safety: safe (pure functions over the context given).
#pragma once

#include <cstdint>

#include "media/av_ptr.h"

namespace gopmill {

// Of the whole file, bits per second. 0 = unknown.
std::int64_t FileRate(const AVFormatContext& format);

// Mean of a track, bits per second, as the container states it. Where FFmpeg knows a part of an MP4
// only, it is the track's share in the file by the bytes of that part, or without a rate of the
// file the mean of that part. 0 = unknown.
std::int64_t TrackRate(AVFormatContext& format, AVStream& stream);

}  // namespace gopmill
