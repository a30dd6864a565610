// SPDX-License-Identifier: Apache-2.0
//
// The workload of a transcoding server: streams over four movies, each with a target, units of one
// GOP. Costs are measured ones (2-core x86, single-threaded codecs, docs/SCHEDULING.md).
//
//     bytes  = mean of the movie * length                length: lognormal, mean 1, size_spread;
//     frames = mean of the movie * length                bytes and frames are what policies see
//     t_hot  = cost of the target * movie * length * noise      noise: lognormal, mean 1, spread
//     t_cold = t_hot + opening cost of the target
//
// The mixes of gopmill bench (server/bench/workload.h) are here by the same names. Alike are
// targets, movies, number of streams, and when streams begin and units arrive. What differs: every
// pair of target and movie is as frequent as any other, where the bench draws targets at random and
// takes movies in turn; costs and sizes are drawn, where the bench has real pictures; streams have
// as many GOPs as asked for, not seconds. Of `modern` only the number of streams is the bench's:
// its targets are not measured one by one.
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

// What the GOPs of one movie are.
struct MovieShape {
  double cost = 1;   // through that of the mean movie
  double bytes = 0;  // means of a GOP
  double frames = 0;
  double millis = 0;  // for how long it is shown
};

enum class MixArrivals {
  kAsAsked,   // closed unless something else is asked for
  kRealTime,  // a unit when its last picture would have been shown, due when the next one would be
  kBursts,    // closed, but streams begin in bursts of one to five, pauses of half a second between
};

struct Mix {
  std::string_view name;
  std::string_view description;
  std::span<const TargetCost> targets;
  std::span<const MovieShape> movies;
  int default_streams = 20;
  MixArrivals arrivals = MixArrivals::kAsAsked;
};

// reference, modern, live, bursty, mixed, small, even.
std::span<const Mix> Mixes();
// kInvalidArgument naming "mix" with the accepted names.
Result<const Mix*> FindMix(std::string_view name);

struct TranscodeParams {
  std::string_view mix = "reference";
  int streams = 0;                                       // 0 = as the mix says
  int gops = 100;                                        // of each stream
  double spread = 0.35;                                  // sigma of the noise
  double size_spread = 0.2;                              // sigma of the GOP sizes
  std::vector<ServiceClass> classes = {ServiceClass{}};  // streams take turns
  std::uint64_t seed = 1;
};

// Fails on an unknown mix (parameter "mix") and on too much work.
Result<Workload> MakeTranscodeWorkload(const TranscodeParams& params);

}  // namespace gopmill::sim
