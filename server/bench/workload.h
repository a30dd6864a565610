// SPDX-License-Identifier: Apache-2.0
//
// What the bench lets run: streams over the bundled movies, in one of four mixes.
//
//   reference  MPEG-1 352x240 to four small targets, all at once: small GOPs, where locality counts
//   modern     720p, 1080p, HEVC and variable frame rate to targets of today: large GOPs
//   live       the streams of `reference`, each paced at real time from the first picture on
//   bursty     the streams of `reference`, beginning in bursts
//
// All is a function of the mix, the number of streams and the seed. tools/bench/measure.py draws
// the same reference streams.
//
// Thread-safety: safe (pure functions, but CheckMovies reads the file system).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gopmill::bench {

inline constexpr int kMaxStreams = 10'000;
inline constexpr std::int64_t kMaxSeed = 0x7fffffff;

struct BenchStream {
  std::string movie;  // path
  int width = 0, height = 0, fps = 0;
  std::int64_t bitrate = 0;  // bits per second
  Duration begin{};          // after the start of the run
  bool realtime = false;     // paced as a live source
};

// The first `count` reference streams: movies in turn, targets from a pseudo-random sequence. The
// published workload is the one of seed 1.
std::vector<BenchStream> ReferenceWorkload(int count, const std::string& folder,
                                           std::uint32_t seed = 1);

struct Mix {
  std::string_view name;
  std::string_view description;  // one line, for listings
  int default_streams = 0;
  std::vector<BenchStream> (*make)(int count, const std::string& folder, std::uint32_t seed);
};
std::span<const Mix> Mixes();
// kInvalidArgument naming "mix" with the accepted names.
Result<const Mix*> FindMix(std::string_view name);

// kInvalidArgument naming "movies" and the first movie that is not there.
Status CheckMovies(const std::vector<BenchStream>& streams);

}  // namespace gopmill::bench
