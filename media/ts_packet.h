// SPDX-License-Identifier: Apache-2.0
//
// The packets of an MPEG transport stream (ISO/IEC 13818-1, 2.4.3), as far as we look into them.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gopmill {

inline constexpr std::size_t kTsPacketBytes = 188;

// The 13 bits of a PID that two bytes end with: those behind the first one of a packet, and in
// tables. `bytes` has as many.
inline int TsPidAt(std::span<const std::uint8_t> bytes, std::size_t place) {
  return (bytes[place] & 0x1f) << 8 | bytes[place + 1];
}

}  // namespace gopmill
