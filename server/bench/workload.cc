// SPDX-License-Identifier: Apache-2.0
#include "server/bench/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>

namespace gopmill::bench {
namespace {

struct Size {
  int width, height, fps;
  std::int64_t bitrate;
};

constexpr std::array<const char*, 4> kReferenceMovies = {"ref-animation.mpg", "ref-street.mpg",
                                                         "ref-talk.mpg", "ref-patterns.mpg"};
constexpr std::array<Size, 4> kReferenceTargets = {{
    {128, 96, 15, 50'000},
    {176, 144, 15, 70'000},
    {352, 288, 26, 100'000},
    {704, 576, 30, 200'000},
}};
constexpr std::array<const char*, 4> kModernMovies = {"modern-720p.mp4", "hevc10-540p.mp4",
                                                      "modern-1080p.mkv", "vfr-540p.mkv"};
constexpr std::array<Size, 4> kModernTargets = {{
    {426, 240, 24, 300'000},
    {640, 360, 24, 600'000},
    {854, 480, 30, 1'200'000},
    {1280, 720, 30, 2'500'000},
}};

// The generator of the C standard's example: the same few lines in any language.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : state_(seed & 0x7fffffffU) {}
  std::uint32_t Next() {
    state_ = (state_ * 1103515245U + 12345U) & 0x7fffffffU;
    return state_ >> 16U;
  }
  // In (0, 1].
  double Uniform() { return (static_cast<double>(Next()) + 1.0) / 32768.0; }

 private:
  std::uint32_t state_;
};

template <std::size_t Movies, std::size_t Targets>
std::vector<BenchStream> Draw(int count, const std::string& folder, std::uint32_t seed,
                              const std::array<const char*, Movies>& movies,
                              const std::array<Size, Targets>& targets) {
  std::vector<BenchStream> streams;
  Generator generator(seed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const Size& target = targets[generator.Next() % targets.size()];
    streams.push_back({.movie = folder + "/" + movies[i % movies.size()],
                       .width = target.width,
                       .height = target.height,
                       .fps = target.fps,
                       .bitrate = target.bitrate});
  }
  return streams;
}

std::vector<BenchStream> Modern(int count, const std::string& folder, std::uint32_t seed) {
  return Draw(count, folder, seed, kModernMovies, kModernTargets);
}

std::vector<BenchStream> Live(int count, const std::string& folder, std::uint32_t seed) {
  std::vector<BenchStream> streams = ReferenceWorkload(count, folder, seed);
  for (BenchStream& stream : streams) stream.realtime = true;
  return streams;
}

// ON: a burst of one to five streams at once. OFF: a pause, exponential with a mean of half a
// second, long enough for queues to run dry now and then.
std::vector<BenchStream> Bursty(int count, const std::string& folder, std::uint32_t seed) {
  constexpr std::uint32_t kLargestBurst = 5;
  constexpr double kMeanPauseSeconds = 0.5;
  std::vector<BenchStream> streams = ReferenceWorkload(count, folder, seed);
  Generator generator(seed ^ 0x5bd1e995U);
  double begin = 0;
  std::uint32_t left = 1 + generator.Next() % kLargestBurst;
  for (BenchStream& stream : streams) {
    if (left == 0) {
      begin += -std::log(generator.Uniform()) * kMeanPauseSeconds;
      left = 1 + generator.Next() % kLargestBurst;
    }
    --left;
    stream.begin = FromSeconds(begin);
  }
  return streams;
}

constexpr std::array<Mix, 4> kMixes = {{
    {"reference", "MPEG-1 352x240 to 128x96, 176x144, 352x288 and 704x576, all at once", 20,
     &ReferenceWorkload},
    {"modern", "720p, 1080p, HEVC and variable frame rate to 240p, 360p, 480p and 720p", 8,
     &Modern},
    {"live", "the reference streams, each paced at real time", 20, &Live},
    {"bursty", "the reference streams, beginning in bursts", 20, &Bursty},
}};

}  // namespace

std::vector<BenchStream> ReferenceWorkload(int count, const std::string& folder,
                                           std::uint32_t seed) {
  return Draw(count, folder, seed, kReferenceMovies, kReferenceTargets);
}

std::span<const Mix> Mixes() { return kMixes; }

Result<const Mix*> FindMix(std::string_view name) {
  const auto found = std::ranges::find(kMixes, name, &Mix::name);
  if (found != kMixes.end()) return &*found;
  std::string names;
  for (const Mix& mix : kMixes) names += (names.empty() ? "" : ", ") + std::string(mix.name);
  return InvalidArgument("mix", "There is no mix of this name.", names);
}

Status CheckMovies(const std::vector<BenchStream>& streams) {
  for (const BenchStream& stream : streams) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(stream.movie, ignored)) continue;
    return InvalidArgument(
        "movies", "The movie " + stream.movie + " is not there.",
        "--movies DIR, the folder with the bundled movies, which tools/movies makes");
  }
  return OkStatus();
}

}  // namespace gopmill::bench
