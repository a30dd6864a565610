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

// MPEG-1 at 920 kb/s, GOPs of half a second, and how the movies differ from it.
constexpr MovieShape Mpeg1(double scale) { return {scale, 57'500 * scale, 15, 500}; }
constexpr std::array kMpeg1Movies = {Mpeg1(0.8), Mpeg1(0.95), Mpeg1(1.05), Mpeg1(1.2)};

constexpr std::array kMixes = {
    Mix{"reference", "SQCIF, QCIF, CIF and 4CIF in x264", kReference, kMpeg1Movies},
    Mix{"modern", "4CIF, AV1, and 360p units of two seconds; not the bench's targets", kModern,
        kMpeg1Movies, 8},
    Mix{"live", "the reference streams, each paced at real time", kReference, kMpeg1Movies, 20,
        MixArrivals::kRealTime},
    Mix{"bursty", "the reference streams, beginning in bursts", kReference, kMpeg1Movies, 20,
        MixArrivals::kBursts},
    Mix{"mixed", "the reference targets, MPEG-4 and AV1", kMixed, kMpeg1Movies},
    Mix{"small", "SQCIF and QCIF: where warm contexts count most", kSmall, kMpeg1Movies},
    Mix{"even", "CIF only: equal streams", kEven, kMpeg1Movies},
};

Status CheckSizes(int streams, int gops) {
  if (streams < 1 || streams > kMaxStreams) {
    return InvalidArgument("streams", "The number of streams is out of range.",
                           fmt::format("1 to {}", kMaxStreams));
  }
  const std::size_t most = kMaxUnits / static_cast<std::size_t>(streams);
  if (gops < 1 || static_cast<std::size_t>(gops) > most) {
    return InvalidArgument("gops", "The number of GOPs per stream is out of range.",
                           fmt::format("1 to {} with {} streams", most, streams));
  }
  return OkStatus();
}

SimUnit DrawUnit(const TargetCost& target, const MovieShape& movie, const TranscodeParams& params,
                 Random& random) {
  const double length = random.Lognormal(params.size_spread);
  const double noise = random.Lognormal(params.spread);
  return {.hot_ms = target.hot_ms * movie.cost * length * noise,
          .open_ms = target.open_ms,
          .bytes = static_cast<std::uint32_t>(std::max(1.0, movie.bytes * length)),
          .frames = static_cast<std::uint32_t>(std::max(1.0, std::round(movie.frames * length)))};
}

double LengthMillis(const SimUnit& unit, const MovieShape& movie) {
  return unit.frames * movie.millis / movie.frames;
}

// From the first picture on at the pace at which they are shown, due when the next one comes, or
// when their class says.
void PaceUnits(std::span<SimUnit> units, const MovieShape& movie, double within_ms) {
  double shown_ms = 0;
  for (SimUnit& unit : units) {
    const double length_ms = LengthMillis(unit, movie);
    unit.arrival_ms = shown_ms += length_ms;
    unit.deadline_ms = unit.arrival_ms + (within_ms > 0 ? within_ms : length_ms);
  }
}

// On: a burst of streams at once. Off: a pause, long enough for queues to run dry now and then.
void SetBursts(Workload& workload, std::uint64_t seed) {
  constexpr std::uint64_t kLargestBurst = 5;
  constexpr double kMeanPauseMs = 500;
  Random random(MixSeed(seed, kBurstSalt));
  double begin_ms = 0;
  std::uint64_t left = 1 + random.Below(kLargestBurst);
  for (SimStream& stream : workload.streams) {
    if (left == 0) {
      begin_ms += random.Exponential(kMeanPauseMs);
      left = 1 + random.Below(kLargestBurst);
    }
    --left;
    stream.begin_ms = begin_ms;
  }
}

// Targets and movies of the streams: every pair equally often, in an order drawn at random (in
// turns, `number mod workers` would put all streams of one target on the same workers).
std::vector<std::uint64_t> DrawPairs(int streams, std::uint64_t seed) {
  std::vector<std::uint64_t> pairs(static_cast<std::size_t>(streams));
  std::iota(pairs.begin(), pairs.end(), std::uint64_t{0});
  Random random(MixSeed(seed, kPairSalt));
  for (std::size_t i = pairs.size(); i > 1; --i) std::swap(pairs[i - 1], pairs[random.Below(i)]);
  return pairs;
}

}  // namespace

std::span<const Mix> Mixes() { return kMixes; }

Result<const Mix*> FindMix(std::string_view name) {
  const auto* const mix = std::ranges::find(kMixes, name, &Mix::name);
  if (mix != kMixes.end()) return mix;
  std::string names;
  for (const Mix& known : kMixes) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return InvalidArgument("mix", "There is no mix of that name.", names);
}

Result<Workload> MakeTranscodeWorkload(const TranscodeParams& params) {
  GOPMILL_ASSIGN_OR_RETURN(const Mix* const mix, FindMix(params.mix));
  const int streams = params.streams == 0 ? mix->default_streams : params.streams;
  GOPMILL_RETURN_IF_ERROR(CheckSizes(streams, params.gops));
  const bool paced = mix->arrivals == MixArrivals::kRealTime;
  Workload workload{.name = "transcode, " + std::string(mix->name),
                    .feed = paced ? Feed::kOpen : Feed::kClosed,
                    .concurrent = streams,
                    .classes = params.classes,
                    .streams = {},
                    .units = {}};
  const auto gops = static_cast<std::uint32_t>(params.gops);
  workload.units.reserve(static_cast<std::size_t>(streams) * gops);
  const std::vector<std::uint64_t> pairs = DrawPairs(streams, params.seed);
  for (std::uint64_t number = 0; number < pairs.size(); ++number) {
    Random random(MixSeed(params.seed, SaltOfStream(number)));
    const std::uint64_t pair = pairs[number];
    const TargetCost& target = mix->targets[pair % mix->targets.size()];
    const MovieShape& movie = mix->movies[(pair / mix->targets.size()) % mix->movies.size()];
    const std::size_t first = workload.units.size();
    workload.streams.push_back({.id = StreamId{random.Next()},
                                .number = number,
                                .service_class = static_cast<int>(number % params.classes.size()),
                                .first_unit = static_cast<std::uint32_t>(first),
                                .unit_count = gops});
    for (std::uint32_t g = 0; g < gops; ++g) {
      workload.units.push_back(DrawUnit(target, movie, params, random));
      workload.units.back().context = number + 1;
    }
    if (!paced) continue;
    PaceUnits(std::span(workload.units).subspan(first), movie,
              ToMillis(ClassDeadline(workload, workload.streams.back())));
  }
  if (mix->arrivals == MixArrivals::kBursts) SetBursts(workload, params.seed);
  return workload;
}

}  // namespace gopmill::sim
