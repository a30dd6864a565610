// SPDX-License-Identifier: Apache-2.0
//
// What differs between FFmpeg 5.1 and 7.x in filters and frames (media/av_compat.h has the rest).
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>  // UINT64_C, without which the headers of libavutil refuse to compile

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/frame.h>
}

namespace gopmill::av {

// Since libavfilter 9.16 a buffer source is told its matrix (AVCOL_SPC_*) and range
// (AVCOL_RANGE_*).
inline void SetColor([[maybe_unused]] AVBufferSrcParameters& source, [[maybe_unused]] int matrix,
                     [[maybe_unused]] int range) {
#if LIBAVFILTER_VERSION_INT >= AV_VERSION_INT(9, 16, 100)
  source.color_space = static_cast<AVColorSpace>(matrix);
  source.color_range = static_cast<AVColorRange>(range);
#endif
}

// Field order flags of a frame became bits of AVFrame::flags in libavutil 58.7.
inline void MarkInterlaced(AVFrame& frame, bool top_field_first) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags |= AV_FRAME_FLAG_INTERLACED;
  if (top_field_first) frame.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  frame.interlaced_frame = 1;
  frame.top_field_first = top_field_first ? 1 : 0;
#endif
}

}  // namespace gopmill::av
