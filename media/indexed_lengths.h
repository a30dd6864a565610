// SPDX-License-Identifier: Apache-2.0
//
// Length and begin of a fragmented MP4 by the index in front of its fragments (sidx, ISO/IEC
// 14496-12 section 8.16.3). That index has a clock of its own, and FFmpeg takes its ticks for those
// of the track: where they are others, a movie of two minutes is one of twelve seconds.
//
// Thread-safety: safe (pure but for reading the file; its position stays).
#pragma once

#include "media/av_ptr.h"

namespace gopmill {

// Of an MP4 that has just been opened and of which no packet has been read: puts right the lengths
// of the tracks whose index counts in other ticks, and of those that FFmpeg measured by them. When
// the movie begins by the indexes in front of its fragments, in seconds; 0 without any.
double MendIndexedLengths(int fd, AVFormatContext& format);

}  // namespace gopmill
