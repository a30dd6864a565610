// SPDX-License-Identifier: Apache-2.0
#include "media/ts_counters.h"

#include "media/ts_packet.h"

namespace gopmill {

void TsCounters::GoOn(std::span<std::uint8_t> segment) {
  constexpr std::uint8_t kField = 0x20, kPayload = 0x10, kCounter = 0x0f, kDiscontinuity = 0x80;
  for (; segment.size() >= kTsPacketBytes; segment = segment.subspan(kTsPacketBytes)) {
    std::uint8_t& control = segment[3];
    const auto own = static_cast<std::uint8_t>(control & kCounter);
    const auto [last, first] = last_.try_emplace(TsPidAt(segment, 1), own);
    if (first) continue;
    if ((control & kPayload) != 0) last->second = (last->second + 1) & kCounter;
    control = static_cast<std::uint8_t>((control & ~kCounter) | last->second);
    const bool has_flags = (control & kField) != 0 && segment[4] > 0;
    if (has_flags) segment[5] &= static_cast<std::uint8_t>(~kDiscontinuity);
  }
}

}  // namespace gopmill
