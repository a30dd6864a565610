// SPDX-License-Identifier: Apache-2.0
//
// What the system says of this process, for the metrics that every Prometheus client library has
// (process_...).
//
// Thread-safety: safe.
#pragma once

#include <cstdint>

namespace gopmill {

struct ProcessStats {
  double started_seconds = 0;  // since 1970; 0 where there is no /proc
  double cpu_seconds = 0;      // of all threads, user and system
  std::int64_t resident_bytes = 0;
  std::int64_t open_fds = 0, max_fds = 0;
};

ProcessStats ReadProcessStats();

}  // namespace gopmill
