// SPDX-License-Identifier: Apache-2.0
//
// What packets take in memory while they are held. Limits and windows count this, not payload
// alone: a file of 31 KB may list a million pictures of one byte each, which take 1.1 KB each.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/av_ptr.h"

namespace gopmill {

// Of each beside its payload, bytes: FFmpeg's AVPacket, its buffer with the padding, and the rows
// of those that hold it.
inline constexpr std::int64_t kPacketOverhead = 1024;

constexpr std::int64_t HeldBytes(std::int64_t payload, std::int64_t packets) {
  return payload + packets * kPacketOverhead;
}

inline std::size_t HeldBytes(const AVPacket& packet) {
  return static_cast<std::size_t>(HeldBytes(std::max(packet.size, 0), 1));
}

inline std::size_t HeldBytes(const std::vector<av::Packet>& packets) {
  std::size_t sum = 0;
  for (const av::Packet& packet : packets) sum += HeldBytes(*packet);
  return sum;
}

}  // namespace gopmill
