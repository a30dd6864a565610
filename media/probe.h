// SPDX-License-Identifier: Apache-2.0
//
// From an opened FFmpeg input to a SourceInfo: picks the tracks, checks limits and allow-lists,
// reads the properties that the plan freezes.
//
// Thread-safety: safe (pure functions over the context given).
#pragma once

#include <memory>

#include "base/status.h"
#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

// Comma-separated allow-lists in FFmpeg's own form.
extern const char* const kAllowedDemuxers;

// Rates above are taken for what they mostly are: the ticks of a container's clock.
inline constexpr Rational kHighestSourceFps{240, 1};
// Rates below are those of clocks that jump, where a sender states none.
inline constexpr Rational kLowestSourceFps{1, 60};

// Whether pictures of this size are taken.
Status CheckVideo(const AVCodecParameters& parameters);
// Of a pixel format of FFmpeg.
int BitDepthOf(int pixel_format);

// Whether it is FFmpeg's one for MP4, QuickTime and their kin.
bool IsMp4(const AVInputFormat& container);
bool IsFlv(const AVInputFormat& container);
// False where a header has all ones for a length, which is an unknown one (ISO/IEC 14496-12 section
// 8.4.2); FFmpeg takes it for one of 2^32 ticks.
bool StatesLengths(const AVFormatContext& format);

// Which sound tracks are read. `live`: the first, where none is named, is chosen by what the source
// says of its tracks alone and not by what was probed of them, so that it is the same each time
// that a publisher comes.
struct SoundReading {
  AudioTracks wanted = {};
  bool live = false;
};

// Both require avformat_find_stream_info to have run.
// Where a source begins whose pictures are stream number `video`: microseconds of container time of
// what comes first of them and the sound that goes with them, whichever of it is read.
std::int64_t StartMicros(AVFormatContext& format, int video);
// `index_begin`: OpenedFormat::index_begin.
Result<std::shared_ptr<SourceInfo>> DescribeSource(AVFormatContext& format, double index_begin,
                                                   const SoundReading& sounds);

}  // namespace gopmill
