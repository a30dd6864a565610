// SPDX-License-Identifier: Apache-2.0
//
// Continuity counters (ISO/IEC 13818-1, 2.4.3.3) that go on from one segment of a transport stream
// to the next, as RFC 8216 section 3 wants it, where each is made by a muxer of its own that begins
// them anew and says so (discontinuity_indicator, 2.4.3.5). One object for each rendition.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <map>
#include <span>

namespace gopmill {

class TsCounters {
 public:
  // `segment`: whole packets, changed in place. What is first of its PID stays as it is.
  void GoOn(std::span<std::uint8_t> segment);

 private:
  std::map<int, std::uint8_t> last_;  // by PID; a segment has few
};

}  // namespace gopmill
