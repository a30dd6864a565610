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

// Whether pictures of this size are taken.
Status CheckVideo(const AVCodecParameters& parameters);
// Of a pixel format of FFmpeg.
int BitDepthOf(int pixel_format);

// Requires avformat_find_stream_info to have run.
Result<std::shared_ptr<SourceInfo>> DescribeSource(AVFormatContext& format,
                                                   const AudioTracks& wanted = {});

}  // namespace gopmill
