// SPDX-License-Identifier: Apache-2.0
#include "media/jpeg_tables.h"

#include <cstddef>

namespace gopmill {
namespace {

// Markers (T.81 B.1.1.3), and the frame of JPEG-LS (T.87).
constexpr std::uint8_t kLossless = 0xC3, kStart = 0xD8, kScan = 0xDA, kQuantisers = 0xDB;
constexpr std::uint8_t kLosslessFrame = 0xF7;

bool StandsAlone(std::uint8_t marker) {
  return marker <= 0x01 || (marker >= 0xD0 && marker <= kStart);
}

}  // namespace

bool JpegLacksTables(std::span<const std::uint8_t> payload) {
  std::size_t at = 0;
  while (at + 3 < payload.size()) {
    const std::uint8_t marker = payload[at + 1];
    // What lies between segments is passed over, as decoders do; any number of 0xFF leads a marker.
    if (payload[at] != 0xFF || marker == 0xFF || StandsAlone(marker)) {
      ++at;
      continue;
    }
    if (marker == kScan) return true;
    if (marker == kQuantisers || marker == kLossless || marker == kLosslessFrame) return false;
    at += 2 + (std::size_t{payload[at + 2]} << 8U | payload[at + 3]);
  }
  return false;
}

}  // namespace gopmill
