// SPDX-License-Identifier: Apache-2.0
//
// Whether a source is over before its container says. FFmpeg's demuxers end a file that was cut
// off, a download or a copy that broke, like a whole one.
//
// Two signs: a box or an element that the file ends inside of (MP4, MOV, Matroska, WebM, AVI; only
// of files), and tracks that end over a second before the length that the container states for
// them. What is cut between two fragments, and containers without a stated length (MPEG-TS), show
// neither.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "media/av_ptr.h"

namespace gopmill {

class EarlyEnd {
 public:
  // Each packet that was read.
  void See(const AVFormatContext& format, const AVPacket& packet);
  // At the end of the source: whether the packets end early.
  [[nodiscard]] bool StopsShort(const AVFormatContext& format) const;

 private:
  std::vector<std::int64_t> ends_;  // by stream, in its time base; AV_NOPTS_VALUE = none yet
};

// Whether the file, as it is now, ends inside of its last box or element. False where that cannot
// be known. Reads a few bytes of each box at the top level; the position of `fd` stays.
bool EndsInside(int fd, const AVInputFormat& container);

}  // namespace gopmill
