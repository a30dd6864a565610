// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/l7_workload.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "scheduler/sim/random.h"

namespace gopmill::sim {
namespace {

struct TraceShape {
  std::string_view name;
  int connections = 0;
  double mean_packets = 0;
  double sigma = 0;  // of the lognormal lengths
};
constexpr std::array kShapes = {
    TraceShape{"mit", 40'000, 8.5, 1.2},
    TraceShape{"tu", 110'000, 12, 1.6},
    TraceShape{"nyp", 61'000, 9.6, 0.8},
};

constexpr std::uint32_t kMostMatched = 8;
// A match tells the protocol with this probability; ours, as are the lengths of packets and the
// time per byte.
constexpr double kKnownPerMatch = 0.25;
constexpr double kPacketBytes = 840;
constexpr double kPacketSigma = 0.6;
constexpr double kMaxPacketBytes = 1500;
constexpr double kNanosecondsPerByte = 50;
// Packets of other connections between two of the same one, on average.
constexpr double kInterleaved = 40;
constexpr int kMaxConnections = 1'000'000;

// Packets of a connection: one, and lognormally many more. Rounded at random, so that the mean is
// the published one.
std::uint32_t DrawLength(const TraceShape& shape, Random& random) {
  const double more = (shape.mean_packets - 1) * random.Lognormal(shape.sigma);
  return 1 + static_cast<std::uint32_t>(std::min(more + random.Uniform(), 1e6));
}

// How many packets of a connection are matched.
std::uint32_t MatchedPackets(const TraceShape& shape, Random& random) {
  const std::uint32_t packets = DrawLength(shape, random);
  const auto until_known = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kMostMatched, random.Geometric(1 / kKnownPerMatch)));
  return std::min({packets, until_known, kMostMatched});
}

void AddConnection(Workload& workload, std::uint32_t matched, double start, Random& random) {
  const std::uint64_t number = workload.streams.size();
  workload.streams.push_back({.id = StreamId{random.Next()},
                              .number = number,
                              .first_unit = static_cast<std::uint32_t>(workload.units.size()),
                              .unit_count = matched});
  double at = start;
  double buffer = 0;
  for (std::uint32_t i = 0; i < matched; ++i) {
    at += random.Exponential(kInterleaved);
    buffer += std::clamp(kPacketBytes * random.Lognormal(kPacketSigma), 40.0, kMaxPacketBytes);
    workload.units.push_back({.arrival_ms = at,
                              .hot_ms = buffer * kNanosecondsPerByte * 1e-6,
                              .bytes = static_cast<std::uint32_t>(buffer),
                              .context = number + 1});
  }
}

}  // namespace

double MeanPackets(std::string_view trace, int connections, std::uint64_t seed) {
  const auto* const shape = std::ranges::find(kShapes, trace, &TraceShape::name);
  if (shape == kShapes.end() || connections < 1) return 0;
  Random random(seed);
  double sum = 0;
  for (int c = 0; c < connections; ++c) sum += DrawLength(*shape, random);
  return sum / connections;
}

Result<Workload> MakeL7Workload(const L7Params& params) {
  const auto* const shape = std::ranges::find(kShapes, params.trace, &TraceShape::name);
  if (shape == kShapes.end()) {
    return InvalidArgument("mix", "There is no trace of that name for the workload l7.",
                           "mit, tu or nyp");
  }
  if (params.connections < 0 || params.connections > kMaxConnections) {
    return InvalidArgument("streams", "The number of connections is out of range.",
                           "0 (as the trace had) to 1000000");
  }
  const int connections = params.connections > 0 ? params.connections : shape->connections;
  Random random(params.seed);
  Workload workload{
      .name = "l7, " + std::string(shape->name), .feed = Feed::kOpen, .streams = {}, .units = {}};
  // Connections start in the order of their numbers, spread over the packets to come.
  double start = 0;
  for (int c = 0; c < connections; ++c) {
    const std::uint32_t matched = MatchedPackets(*shape, random);
    AddConnection(workload, matched, start, random);
    start += random.Exponential(matched);
  }
  workload.concurrent = static_cast<int>(workload.streams.size());
  return workload;
}

void ScaleToLoad(Workload& workload, double load, int workers) {
  double first = workload.units.front().arrival_ms;
  double last = first;
  for (const SimUnit& unit : workload.units) {
    first = std::min(first, unit.arrival_ms);
    last = std::max(last, unit.arrival_ms);
  }
  const double wanted_ms = workload.HotMillis() / (load * workers);
  const double factor = last > first ? wanted_ms / (last - first) : 0;
  for (SimUnit& unit : workload.units) unit.arrival_ms = (unit.arrival_ms - first) * factor;
}

}  // namespace gopmill::sim
