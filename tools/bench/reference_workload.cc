// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/reference_workload.h"

#include <sys/resource.h>

#include <array>
#include <cstddef>

namespace gopmill {
namespace {

constexpr std::array<const char*, 4> kMovies = {"ref-animation.mpg", "ref-street.mpg",
                                                "ref-talk.mpg", "ref-patterns.mpg"};
struct Size {
  int width, height, fps;
  std::int64_t bitrate;
};
constexpr std::array<Size, 4> kTargets = {{
    {128, 96, 15, 50'000},
    {176, 144, 15, 70'000},
    {352, 288, 26, 100'000},
    {704, 576, 30, 200'000},
}};
constexpr std::uint32_t kSeed = 1;

// The generator of the C standard's example: the same few lines in any language.
std::uint32_t Next(std::uint32_t state) { return (state * 1103515245U + 12345U) & 0x7fffffffU; }

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::vector<ReferenceStream> ReferenceWorkload(int count, const std::string& folder) {
  std::vector<ReferenceStream> streams;
  std::uint32_t state = kSeed;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    state = Next(state);
    const Size& target = kTargets[(state >> 16U) % kTargets.size()];
    streams.push_back({.movie = folder + "/" + kMovies[i % kMovies.size()],
                       .width = target.width,
                       .height = target.height,
                       .fps = target.fps,
                       .bitrate = target.bitrate});
  }
  return streams;
}

ProcessUsage UsageNow() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr std::int64_t kKiB = 1024;
  return {.user_seconds = Seconds(usage.ru_utime),
          .system_seconds = Seconds(usage.ru_stime),
          .peak_bytes = usage.ru_maxrss * kKiB,
          .minor_faults = usage.ru_minflt};
}

ProcessUsage operator-(const ProcessUsage& later, const ProcessUsage& earlier) {
  return {.user_seconds = later.user_seconds - earlier.user_seconds,
          .system_seconds = later.system_seconds - earlier.system_seconds,
          .peak_bytes = later.peak_bytes,
          .minor_faults = later.minor_faults - earlier.minor_faults};
}

}  // namespace gopmill
