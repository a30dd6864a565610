// SPDX-License-Identifier: Apache-2.0
//
// Containers that keep parameter sets apart from the packets may bring new ones in mid-stream: FLV
// (so RTMP), and MP4 with several sample entries. FFmpeg announces them once, with the first packet
// behind the change, and what comes from there on is coded in another way.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// A header of more bytes is none.
inline constexpr std::size_t kMaxCodingHeaderBytes = std::size_t{1} << 20U;

// What the packet brings; empty if nothing.
std::span<const std::uint8_t> HeaderIn(const AVPacket& packet);
// Puts a header into the packet in place of what it brings; an empty one is none.
void SetHeader(AVPacket& packet, std::span<const std::uint8_t> header);
std::span<const std::uint8_t> HeaderOf(const AVCodecParameters& parameters);

// The source from this packet on, if that brings a header which differs from what there was; else
// null, as for the same one sent again. `sound`: the track, where it is none of `video`.
std::shared_ptr<const SourceInfo> WithNewHeader(const SourceInfo& before, bool video,
                                                std::size_t sound, const AVPacket& packet);

// The same for a picture of a file, where a header counts from a picture on that can be decoded on
// its own, and only if a decoder takes it.
std::shared_ptr<const SourceInfo> CodingFrom(const SourceInfo& before, const AVPacket& picture);

}  // namespace gopmill
