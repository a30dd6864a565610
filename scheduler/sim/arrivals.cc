// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/arrivals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "scheduler/sim/random.h"

namespace gopmill::sim {
namespace {

constexpr const char* kAcceptedArrivals =
    "closed, poisson, batch:N, geometric:N, onoff or live; N 1 to 1000";
constexpr int kMaxBatch = 1000;
constexpr double kOnShare = 0.25;
constexpr double kUnitsPerSession = 20;

Result<int> BatchSize(std::string_view digits) {
  int batch = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), batch);
  if (error != std::errc() || end != digits.data() + digits.size() || batch < 1 ||
      batch > kMaxBatch) {
    return InvalidArgument("arrivals",
                           "\"" + std::string(digits.substr(0, 40)) + "\" is no size of a batch.",
                           kAcceptedArrivals);
  }
  return batch;
}

// Units of the next batch of a stream with `left` of them, in the mean.
double MeanBatch(const Arrivals& arrivals, double left) {
  const double batch = arrivals.batch;
  if (arrivals.kind != ArrivalKind::kGeometric) return std::min(batch, left);
  return batch * (1 - std::pow(1 - 1 / batch, left));
}

// Batches of streams drawn at random among those with units left. What a stream has left bounds
// them, and the gaps before them are as much shorter, so that the load is what was asked for.
void SetBatched(Workload& workload, const Arrivals& arrivals, double per_ms, Random& random) {
  std::vector<std::uint32_t> open(workload.streams.size());
  std::iota(open.begin(), open.end(), 0U);
  std::vector<std::uint32_t> next(open.size(), 0);
  double now_ms = 0;
  while (!open.empty()) {
    const double gap = random.Exponential(1);
    const std::size_t place = random.Below(open.size());
    const std::uint32_t s = open[place];
    const SimStream& stream = workload.streams[s];
    const std::uint64_t size = arrivals.kind == ArrivalKind::kGeometric
                                   ? random.Geometric(arrivals.batch)
                                   : static_cast<std::uint64_t>(arrivals.batch);
    now_ms += gap * MeanBatch(arrivals, stream.unit_count - next[s]) / per_ms;
    for (std::uint64_t i = 0; i < size && next[s] < stream.unit_count; ++i) {
      workload.units[stream.first_unit + next[s]++].arrival_ms = now_ms;
    }
    if (next[s] == stream.unit_count) {
      open[place] = open.back();
      open.pop_back();
    }
  }
}

// Sessions of a mean number of units and the pauses between them, stretched to the whole time and
// begun anywhere in it: so every stream offers its work at the same mean rate from begin to end.
void SetOnOff(Workload& workload, const SimStream& stream, double whole_ms, Random& random) {
  const double off_gaps = kUnitsPerSession * (1 - kOnShare) / kOnShare;  // in gaps of a session
  std::vector<double> times;
  double now = 0;
  std::uint64_t left = random.Geometric(kUnitsPerSession);
  for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
    if (left-- == 0) {
      now += random.Exponential(off_gaps);
      left = random.Geometric(kUnitsPerSession) - 1;
    }
    now += random.Exponential(1);
    times.push_back(now);
  }
  now += random.Exponential(off_gaps);
  const double phase = random.Uniform() * now;
  for (double& time : times) time = (time + phase < now ? time + phase : time + phase - now);
  std::ranges::sort(times);
  for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
    workload.units[stream.first_unit + i].arrival_ms = times[i] / now * whole_ms;
  }
}

void SetLive(Workload& workload, const SimStream& stream, double whole_ms, Random& random) {
  const double gap_ms = whole_ms / stream.unit_count;
  const double phase_ms = random.Uniform() * gap_ms;
  for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
    workload.units[stream.first_unit + i].arrival_ms = phase_ms + i * gap_ms;
  }
}

void SetTimes(Workload& workload, const Arrivals& arrivals, double per_ms, Random& random) {
  if (arrivals.kind == ArrivalKind::kPoisson || arrivals.kind == ArrivalKind::kGeometric) {
    SetBatched(workload, arrivals, per_ms, random);
    return;
  }
  const double whole_ms = static_cast<double>(workload.units.size()) / per_ms;
  for (const SimStream& stream : workload.streams) {
    if (arrivals.kind == ArrivalKind::kOnOff) SetOnOff(workload, stream, whole_ms, random);
    if (arrivals.kind == ArrivalKind::kLive) SetLive(workload, stream, whole_ms, random);
  }
}

// One unit of its stream after the arrival, or when its class says.
void SetLiveDeadlines(Workload& workload, double per_ms) {
  const double whole_ms = static_cast<double>(workload.units.size()) / per_ms;
  for (const SimStream& stream : workload.streams) {
    const double within_ms = ToMillis(ClassDeadline(workload, stream));
    for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
      SimUnit& unit = workload.units[stream.first_unit + i];
      const double next_ms = whole_ms / stream.unit_count;
      unit.deadline_ms = unit.arrival_ms + (within_ms > 0 ? within_ms : next_ms);
    }
  }
}

}  // namespace

Result<Arrivals> ParseArrivals(const std::string& text) {
  if (text == "closed") return Arrivals{ArrivalKind::kClosed};
  if (text == "poisson") return Arrivals{ArrivalKind::kPoisson};
  if (text == "onoff") return Arrivals{ArrivalKind::kOnOff};
  if (text == "live") return Arrivals{ArrivalKind::kLive};
  for (const auto& [prefix, kind] : {std::pair("batch:", ArrivalKind::kPoisson),
                                     std::pair("geometric:", ArrivalKind::kGeometric)}) {
    if (!text.starts_with(prefix)) continue;
    GOPMILL_ASSIGN_OR_RETURN(
        const int batch, BatchSize(std::string_view(text).substr(std::string_view(prefix).size())));
    return Arrivals{kind, batch};
  }
  return InvalidArgument("arrivals", "\"" + text.substr(0, 40) + "\" is no kind of arrivals.",
                         kAcceptedArrivals);
}

void SetArrivals(Workload& workload, const Arrivals& arrivals, double load, int workers,
                 std::uint64_t seed) {
  if (arrivals.kind == ArrivalKind::kClosed) {
    workload.feed = Feed::kClosed;
    for (SimUnit& unit : workload.units) unit.deadline_ms = SimUnit{}.deadline_ms;
    return;
  }
  workload.feed = Feed::kOpen;
  for (SimUnit& unit : workload.units) unit.deadline_ms -= unit.arrival_ms;
  Random random(MixSeed(seed, kArrivalSalt));
  const double per_ms = ArrivalsPerSecond(workload, load, workers) / 1000;
  SetTimes(workload, arrivals, per_ms, random);
  for (SimUnit& unit : workload.units) unit.deadline_ms += unit.arrival_ms;
  if (arrivals.kind == ArrivalKind::kLive) SetLiveDeadlines(workload, per_ms);
}

}  // namespace gopmill::sim
