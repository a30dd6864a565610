// SPDX-License-Identifier: Apache-2.0
//
// The workload of a transcoding server: streams over four movies, each with a target, units of one
// GOP. Costs are measured ones (2-core x86, single-threaded codecs, docs/SCHEDULING.md).
//
//     bytes  = mean of the movie * length                length: lognormal, mean 1, size_spread;
//     frames = 15 * length                               bytes and frames are what policies see
//     t_hot  = cost of the target * movie * length * noise      noise: lognormal, mean 1, spread
//     t_cold = t_hot + opening cost of the target
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/sim/workload.h"

namespace gopmill::sim {

// What one GOP costs for one target.
struct TargetCost {
  std::string_view name;
  double hot_ms = 0;
  double open_ms = 0;  // opening and freeing decoder, scaler and encoder
};

struct Mix {
  std::string_view name;
  std::string_view description;
  std::span<const TargetCost> targets;
};

// reference, mixed, modern, small, even.
std::span<const Mix> Mixes();

struct TranscodeParams {
  std::string_view mix = "reference";
  int streams = 20;
  int gops = 100;                                        // of each stream
  double spread = 0.35;                                  // sigma of the noise
  double size_spread = 0.2;                              // sigma of the GOP sizes
  std::vector<ServiceClass> classes = {ServiceClass{}};  // streams take turns
  std::uint64_t seed = 1;
};

// All streams at once, closed feed. Fails on an unknown mix (parameter "mix") and on too much work.
Result<Workload> MakeTranscodeWorkload(const TranscodeParams& params);

}  // namespace gopmill::sim
