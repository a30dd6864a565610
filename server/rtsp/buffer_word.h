// SPDX-License-Identifier: Apache-2.0
//
// Numbers in the packets of RTP and RTCP, and how GStreamer's buffers hold them.
//
// Thread-safety: safe for a buffer that nobody writes to.
#pragma once

#include <gst/gst.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gopmill {

inline constexpr std::uint8_t kSenderReportType = 200;

// Whether a packet is of RTCP, by its second byte: the types that RTP keeps free (RFC 5761, section
// 4).
inline constexpr bool IsReport(std::uint8_t second_byte) {
  return second_byte >= 192 && second_byte <= 223;
}

// Big-endian number of 32 bits at `offset`, a place in bytes. The buffer holds 4 bytes there at
// least: the caller has looked. It may have them in several pieces of memory.
inline std::uint32_t WordAt(GstBuffer* buffer, std::size_t offset) {
  std::array<std::uint8_t, 4> bytes{};
  gst_buffer_extract(buffer, offset, bytes.data(), bytes.size());
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | bytes[3];
}

}  // namespace gopmill
