// SPDX-License-Identifier: Apache-2.0
#include "server/bench/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/cpu_mask.h"
#include "base/utc_time.h"
#include "media/av_error.h"
#include "server/stream/build_identity.h"

namespace gopmill::bench {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

int AllowedCpus() {
  const std::optional<CpuMask> allowed = CpuMask::OfThisThread();
  return allowed ? allowed->count() : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Machine DescribeMachine() {
  utsname system{};
  uname(&system);
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = -1;
  return {.cpu = CpuModel(),
          .cpus = AllowedCpus(),
          .kernel = fmt::format("{} {}", system.sysname, system.release),
          .load = load,
          .date = UtcSeconds(WallNow()),
          .gopmill = BuildVersion(),
          .ffmpeg = av::FfmpegVersion(),
          .compiler = __VERSION__};
}

}  // namespace gopmill::bench
