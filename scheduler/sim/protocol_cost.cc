// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/protocol_cost.h"

#include <algorithm>
#include <array>

#include "scheduler/sim/reload_transient.h"

namespace gopmill::sim {
namespace {

// Cases of table 2: session last written here (A) or elsewhere (B); lookup history not written (1),
// written and last written here (2), or elsewhere (3).
constexpr int kCases = 6;
struct Measured {
  double hot, cold;
};
// [parallelization][case], microseconds. Thread stacks are kept to their processors.
constexpr std::array<std::array<Measured, kCases>, 2> kTimes = {{
    {{{66.6, 91.9}, {83.3, 111.4}, {103.0, 131.2}, {105.1, 129.0}, {111.3, 139.9}, {130.2, 158.1}}},
    {{{57.4, 80.5}, {74.0, 100.2}, {87.5, 113.8}, {77.0, 100.1}, {89.7, 116.9}, {102.5, 128.9}}},
}};
constexpr std::array<double, 2> kColdCold = {284.3, 232.2};

constexpr CacheGeometry kFirst{.lines = 1024, .line_bytes = 32};
constexpr CacheGeometry kSecond{.lines = 8192, .line_bytes = 128};
constexpr ReferenceStream kOtherWork{.clock_hz = 100e6, .cycles_per_reference = 5};

}  // namespace

ProtocolCostModel::ProtocolCostModel(Parallelization parallelization, int processors)
    : parallelization_(parallelization), free_since_ms_(static_cast<std::size_t>(processors), 0) {}

RunCost ProtocolCostModel::Begin(const RunRequest& request) {
  const auto processor = static_cast<std::size_t>(request.worker);
  if (session_at_.size() <= request.stream) session_at_.resize(request.stream + 1, -1);
  const Times times = CaseOf(request);
  const auto kind = static_cast<std::size_t>(parallelization_);
  const double away_ms = std::max(0.0, request.now_ms - free_since_ms_[processor]);
  const double us = TwoLevelTime(
      {.hot_hot = times.hot, .cold_hot = times.cold, .cold_cold = kColdCold[kind]},
      DisplacedShare(kFirst, kOtherWork, away_ms), DisplacedShare(kSecond, kOtherWork, away_ms));
  RunCost cost;
  cost.total_ms = us / 1000;
  session_at_[request.stream] = request.worker;
  last_stream_ = request.stream;
  history_at_ = request.worker;
  free_since_ms_[processor] = request.now_ms + cost.total_ms;
  return cost;
}

ProtocolCostModel::Times ProtocolCostModel::CaseOf(const RunRequest& request) const {
  const int session_at = session_at_[request.stream];
  const bool session_here = session_at < 0 || session_at == request.worker;
  // A stack of its own sees one stream only: its history never changes.
  const bool written = parallelization_ == Parallelization::kLocking &&
                       last_stream_ != static_cast<std::int64_t>(request.stream);
  const int history = !written ? 0 : (history_at_ == request.worker ? 1 : 2);
  const Measured& measured = kTimes[static_cast<std::size_t>(parallelization_)]
                                   [(session_here ? 0U : 3U) + static_cast<std::size_t>(history)];
  return {measured.hot, measured.cold};
}

}  // namespace gopmill::sim
