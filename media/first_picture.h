// SPDX-License-Identifier: Apache-2.0
//
// What only the first picture of a stream tells: HDR10 metadata that x265 and others write into it
// and nowhere else, and which x264 it is of (decoders make up for faults of older ones).
//
// Thread-safety: safe.
#pragma once

#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// Reads the packet, and decodes it where the stream says that it is HDR and its container told no
// metadata, or where nothing tells whether it is interlaced, and fills those in. A packet that
// cannot be decoded tells nothing.
void DescribeFirstPicture(const AVPacket& packet, VideoInfo& video);

}  // namespace gopmill
