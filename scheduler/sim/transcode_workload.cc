// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/transcode_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "scheduler/sim/random.h"

namespace gopmill::sim {
namespace {

// From 352x240 MPEG-1 unless said otherwise.
constexpr TargetCost kSqcif{"128x96 x264", 3.9, 0.6};
constexpr TargetCost kQcif{"176x144 x264", 7.1, 1.1};
constexpr TargetCost kCif{"352x288 x264", 22, 1.5};
constexpr TargetCost k4Cif{"704x576 x264", 75, 2.2};
constexpr TargetCost kCifMpeg4{"352x288 mpeg4", 6.7, 0.2};
constexpr TargetCost k360p{"640x360 from 720p, 2 s", 2000, 6};
// SVT-AV1 opens in 9 to 25 ms with one thread; its time per GOP is that of x264 at this size.
constexpr TargetCost kAv1{"352x288 SVT-AV1", 22, 17};

constexpr std::array kReference = {kSqcif, kQcif, kCif, k4Cif};
constexpr std::array kMixed = {kSqcif, kQcif, kCif, k4Cif, kCifMpeg4, kAv1};
constexpr std::array kModern = {k4Cif, k360p, kAv1};
constexpr std::array kSmall = {kSqcif, kQcif};
constexpr std::array kEven = {kCif};

constexpr std::array kMixes = {
    Mix{"reference", "SQCIF, QCIF, CIF and 4CIF in x264", kReference},
    Mix{"mixed", "the reference targets, MPEG-4 and AV1", kMixed},
    Mix{"modern", "4CIF, AV1, and 360p units of two seconds", kModern},
    Mix{"small", "SQCIF and QCIF: where warm contexts count most", kSmall},
    Mix{"even", "CIF only: equal streams", kEven},
};

constexpr int kMovies = 4;
// Mean bytes of a GOP of half a second at 920 kb/s, and how the movies differ from it.
constexpr double kGopBytes = 57'500;
constexpr double kGopFrames = 15;
constexpr std::array<double, kMovies> kMovieScale = {0.8, 0.95, 1.05, 1.2};

Status CheckSizes(const TranscodeParams& params) {
  if (params.streams < 1 || params.streams > kMaxStreams) {
    return InvalidArgument("streams", "The number of streams is out of range.",
                           fmt::format("1 to {}", kMaxStreams));
  }
  const std::size_t most = kMaxUnits / static_cast<std::size_t>(params.streams);
  if (params.gops < 1 || static_cast<std::size_t>(params.gops) > most) {
    return InvalidArgument("gops", "The number of GOPs per stream is out of range.",
                           fmt::format("1 to {} with {} streams", most, params.streams));
  }
  return OkStatus();
}

SimUnit DrawUnit(const TargetCost& target, double movie_scale, const TranscodeParams& params,
                 Random& random) {
  const double length = random.Lognormal(params.size_spread);
  const double noise = random.Lognormal(params.spread);
  return {.hot_ms = target.hot_ms * movie_scale * length * noise,
          .open_ms = target.open_ms,
          .bytes = static_cast<std::uint32_t>(std::max(1.0, kGopBytes * movie_scale * length)),
          .frames = static_cast<std::uint32_t>(std::max(1.0, std::round(kGopFrames * length)))};
}

// Targets and movies of the streams: every pair equally often, in an order drawn at random (in
// turns, `number mod workers` would put all streams of one target on the same workers).
std::vector<std::uint64_t> DrawPairs(int streams, std::uint64_t seed) {
  std::vector<std::uint64_t> pairs(static_cast<std::size_t>(streams));
  std::iota(pairs.begin(), pairs.end(), std::uint64_t{0});
  Random random(MixSeed(seed, 0x7A26));
  for (std::size_t i = pairs.size(); i > 1; --i) std::swap(pairs[i - 1], pairs[random.Below(i)]);
  return pairs;
}

}  // namespace

std::span<const Mix> Mixes() { return kMixes; }

Result<Workload> MakeTranscodeWorkload(const TranscodeParams& params) {
  const auto* const mix = std::ranges::find(kMixes, params.mix, &Mix::name);
  if (mix == kMixes.end()) {
    std::string names;
    for (const Mix& known : kMixes) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return InvalidArgument("mix", "There is no mix of that name.", names);
  }
  GOPMILL_RETURN_IF_ERROR(CheckSizes(params));
  Workload workload{.name = "transcode, " + std::string(mix->name),
                    .concurrent = params.streams,
                    .classes = params.classes,
                    .streams = {},
                    .units = {}};
  const auto gops = static_cast<std::uint32_t>(params.gops);
  workload.units.reserve(static_cast<std::size_t>(params.streams) * gops);
  const std::vector<std::uint64_t> pairs = DrawPairs(params.streams, params.seed);
  for (int s = 0; s < params.streams; ++s) {
    const auto number = static_cast<std::uint64_t>(s);
    Random random(MixSeed(params.seed, number));
    const std::uint64_t pair = pairs[number];
    const TargetCost& target = mix->targets[pair % mix->targets.size()];
    const std::size_t movie = (pair / mix->targets.size()) % kMovies;
    workload.streams.push_back({.id = StreamId{random.Next()},
                                .context = number + 1,
                                .service_class = static_cast<int>(number % params.classes.size()),
                                .first_unit = static_cast<std::uint32_t>(workload.units.size()),
                                .unit_count = gops});
    for (std::uint32_t g = 0; g < gops; ++g) {
      workload.units.push_back(DrawUnit(target, kMovieScale[movie], params, random));
    }
  }
  return workload;
}

}  // namespace gopmill::sim
