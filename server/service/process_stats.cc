// SPDX-License-Identifier: Apache-2.0
#include "server/service/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

#include "base/clock.h"

namespace gopmill {
namespace {

// Ticks after the start of the machine: field 22, behind a name in brackets that may hold anything
// (proc(5)).
double StartTicks() {
  std::ifstream file("/proc/self/stat");
  file.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  std::string skipped;
  for (int field = 3; field < 22; ++field) file >> skipped;
  double ticks = 0;
  return file >> ticks ? ticks : 0;
}

double MachineStartSeconds() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

std::int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t OpenFds() {
  namespace fs = std::filesystem;
  std::int64_t count = 0;
  std::error_code code;
  fs::directory_iterator at("/proc/self/fd", code);
  for (const fs::directory_iterator end; !code && at != end; at.increment(code)) ++count;
  return count == 0 ? 0 : count - 1;  // without that of the folder itself
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  const double machine = MachineStartSeconds();
  if (machine > 0) {
    stats.started_seconds = machine + StartTicks() / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  stats.cpu_seconds = ToSeconds(ProcessCpuNow());
  stats.resident_bytes = ResidentBytes();
  stats.open_fds = OpenFds();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  stats.max_fds = static_cast<std::int64_t>(files.rlim_cur);
  return stats;
}

}  // namespace gopmill
