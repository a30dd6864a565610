// SPDX-License-Identifier: Apache-2.0
//
// The reference workload: N streams over four MPEG-1 movies, each to one of four small targets, and
// what a measured process has used. tools/bench/measure.py draws the same streams.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gopmill {

struct ReferenceStream {
  std::string movie;  // path
  int width = 0, height = 0, fps = 0;
  std::int64_t bitrate = 0;  // bits per second
};

// The first `count` streams: movies in turn, targets from a fixed pseudo-random sequence.
std::vector<ReferenceStream> ReferenceWorkload(int count, const std::string& folder);

// Of this process since its start. A difference has the later one's peak.
struct ProcessUsage {
  double user_seconds = 0, system_seconds = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t minor_faults = 0;

  [[nodiscard]] double cpu_seconds() const { return user_seconds + system_seconds; }
};
ProcessUsage UsageNow();
ProcessUsage operator-(const ProcessUsage& later, const ProcessUsage& earlier);

}  // namespace gopmill
