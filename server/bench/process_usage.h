// SPDX-License-Identifier: Apache-2.0
//
// What this process has used, as the kernel counts it: CPU time and memory, and cache misses where
// the machine lets us count them.
//
// Thread-safety: the functions are safe; CacheCounters is compatible.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "base/cpu_mask.h"

namespace gopmill::bench {

// Since the start of the process. A difference has the later one's peak.
struct ProcessUsage {
  double user_seconds = 0, system_seconds = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t minor_faults = 0;

  [[nodiscard]] double cpu_seconds() const { return user_seconds + system_seconds; }
};
ProcessUsage UsageNow();
// Lets peak_bytes begin anew with what is held now. False where the kernel does not (Linux before
// 4.0, no /proc): then it stays that since the start of the process.
bool ForgetPeak();
ProcessUsage operator-(const ProcessUsage& later, const ProcessUsage& earlier);

// CPU seconds that anybody has used of the CPUs this process may run on since the start of the
// machine, time stolen by its host included (/proc/stat, in steps of 10 ms). Less our own usage it
// is what others took. Empty where the kernel does not tell.
std::optional<double> BusySeconds();
// The same of what /proc/stat says; empty where none of the CPUs is in it.
std::optional<double> BusySecondsOf(const CpuMask& cpus, std::istream& stat);
// CPU seconds that others took since `before`, while this process took `own`; empty where either
// time is not known.
std::optional<double> OthersSeconds(std::optional<double> before, double own);

struct CacheCounts {
  std::int64_t references = 0, misses = 0;  // of the last-level cache, user space only
};

// Counts the last-level cache references and misses of the calling thread and of all threads that
// are started while it lives (perf_event_open(2), inherited). Virtual machines and containers often
// do not allow it.
class CacheCounters {
 public:
  CacheCounters();
  ~CacheCounters();
  CacheCounters(const CacheCounters&) = delete;
  CacheCounters& operator=(const CacheCounters&) = delete;

  // Empty when they cannot be counted. Threads that have ended are included.
  [[nodiscard]] std::optional<CacheCounts> Read() const;
  // Why they cannot be counted; empty when they can.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  int references_fd_ = -1, misses_fd_ = -1;
  std::string obstacle_;
};

}  // namespace gopmill::bench
