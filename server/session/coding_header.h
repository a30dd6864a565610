// SPDX-License-Identifier: Apache-2.0
//
// Publishers whose container keeps parameter sets apart from the packets (FLV, so RTMP) may send
// new ones in mid-stream: then what comes from there on is coded in another way.
//
// Thread-safety: safe (a pure function).
#pragma once

#include <memory>

#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// A header of more bytes is none.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20U;

// The source from this packet on, if that brings a header which differs from what there was; else
// null, as for the same one sent again. `sound`: the track, where it is none of `video`.
std::shared_ptr<const SourceInfo> WithNewHeader(const SourceInfo& before, bool video,
                                                std::size_t sound, const AVPacket& packet);

}  // namespace gopmill
