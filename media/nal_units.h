// SPDX-License-Identifier: Apache-2.0
//
// The NAL units of a packet of H.264 or HEVC, in Annex B form or with lengths in front (avcC,
// hvcC), without a copy. Sources: ITU-T H.264 Annex B, ISO/IEC 14496-15 5.3.3.1.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "media/av_ptr.h"

namespace gopmill::nal {

using Bytes = std::span<const std::uint8_t>;

// What is seen of a unit in Annex B form: enough for all but slices, whose end is not looked for.
inline constexpr std::size_t kSeenBytes = 4096;

// Offset just behind the next 00 00 01 start code at or after `from`, or nothing.
std::optional<std::size_t> AfterStartCode(Bytes data, std::size_t from);

// Bytes per NAL length field when the extradata is avcC/hvcC (first byte 1), else 0 = Annex B.
std::size_t LengthSize(const AVCodecParameters& parameters);

// The unit of Annex B that begins at `at`, kSeenBytes of it at most.
Bytes UnitAt(Bytes data, std::size_t at);

// Calls visit(unit) from its header on, of one byte at least, until it returns true.
template <class Visit>
void ForEach(Bytes data, std::size_t length_size, Visit visit) {
  if (length_size == 0) {
    for (auto at = AfterStartCode(data, 0); at && *at < data.size();
         at = AfterStartCode(data, *at)) {
      const Bytes unit = UnitAt(data, *at);
      if (!unit.empty() && visit(unit)) return;
    }
    return;
  }
  std::size_t at = 0;
  while (at + length_size < data.size()) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_size; ++i) length = length << 8U | data[at + i];
    at += length_size;
    const std::size_t rest = data.size() - at;
    const Bytes unit = data.subspan(at, std::min(length, rest));
    if ((!unit.empty() && visit(unit)) || length > rest) return;
    at += length;
  }
}

}  // namespace gopmill::nal
