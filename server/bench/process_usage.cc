// SPDX-License-Identifier: Apache-2.0
#include "server/bench/process_usage.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace gopmill::bench {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// VmHWM rather than ru_maxrss: that also holds what the program had that started this one.
std::optional<std::int64_t> PeakKiB() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::int64_t peak = 0;
    if (line.starts_with("VmHWM:") && std::istringstream(line.substr(6)) >> peak) return peak;
  }
  return std::nullopt;
}

int OpenCounter(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  // More events than counters share them in turn; the times say for how long each counted.
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::optional<std::int64_t> ReadCounter(int fd) {
  struct {
    std::uint64_t value = 0, enabled = 0, running = 0;
  } counter;
  if (fd < 0 || read(fd, &counter, sizeof counter) != sizeof counter) return std::nullopt;
  if (counter.running == 0) return std::nullopt;  // there is no such counter in the machine
  const double scale = static_cast<double>(counter.enabled) / static_cast<double>(counter.running);
  return static_cast<std::int64_t>(static_cast<double>(counter.value) * scale);
}

std::string Obstacle(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP: return "this machine (often: a virtual one) has no cache counters";
    case EACCES:
    case EPERM: return "the kernel does not allow it (kernel.perf_event_paranoid, seccomp)";
    case ENOSYS: return "the kernel was built without performance counters";
    default: return std::strerror(error);
  }
}

}  // namespace

ProcessUsage UsageNow() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr std::int64_t kKiB = 1024;
  return {.user_seconds = Seconds(usage.ru_utime),
          .system_seconds = Seconds(usage.ru_stime),
          .peak_bytes = PeakKiB().value_or(usage.ru_maxrss) * kKiB,
          .minor_faults = usage.ru_minflt};
}

bool ForgetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

ProcessUsage operator-(const ProcessUsage& later, const ProcessUsage& earlier) {
  return {.user_seconds = later.user_seconds - earlier.user_seconds,
          .system_seconds = later.system_seconds - earlier.system_seconds,
          .peak_bytes = later.peak_bytes,
          .minor_faults = later.minor_faults - earlier.minor_faults};
}

std::optional<double> BusySeconds() {
  const std::optional<CpuMask> allowed = CpuMask::OfThisThread();
  std::ifstream file("/proc/stat");
  return allowed ? BusySecondsOf(*allowed, file) : std::nullopt;
}

std::optional<double> BusySecondsOf(const CpuMask& cpus, std::istream& stat) {
  std::int64_t ticks = 0;
  bool found = false;
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    int cpu = 0;
    // user nice system idle iowait irq softirq steal
    std::array<std::int64_t, 8> fields{};
    std::istringstream words(line.substr(3));
    if (line[3] == ' ' || !(words >> cpu) || !cpus.Holds(cpu)) continue;
    found = true;
    for (std::int64_t& field : fields) words >> field;
    ticks += fields[0] + fields[1] + fields[2] + fields[5] + fields[6] + fields[7];
  }
  if (!found) return std::nullopt;
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::optional<double> OthersSeconds(std::optional<double> before, double own) {
  const std::optional<double> now = BusySeconds();
  if (!before || !now) return std::nullopt;
  return std::max(0.0, *now - *before - own);
}

CacheCounters::CacheCounters() : references_fd_(OpenCounter(PERF_COUNT_HW_CACHE_REFERENCES)) {
  if (references_fd_ < 0) {
    obstacle_ = Obstacle(errno);
    return;
  }
  misses_fd_ = OpenCounter(PERF_COUNT_HW_CACHE_MISSES);
  if (misses_fd_ < 0) obstacle_ = Obstacle(errno);
}

CacheCounters::~CacheCounters() {
  for (const int fd : std::array{references_fd_, misses_fd_}) {
    if (fd >= 0) close(fd);
  }
}

std::optional<CacheCounts> CacheCounters::Read() const {
  const auto references = ReadCounter(references_fd_);
  const auto misses = ReadCounter(misses_fd_);
  if (!references || !misses) return std::nullopt;
  return CacheCounts{.references = *references, .misses = *misses};
}

}  // namespace gopmill::bench
