// SPDX-License-Identifier: Apache-2.0
//
// Runs that differ by their seed alone: one of them is one draw of streams and costs, and says
// little; the mean of several, with an interval, says how much.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/sweep.h"

namespace gopmill::sim {

// A mean and its 95 % interval, mean +- half_width, by Student's t with count - 1 degrees of
// freedom. Of fewer than two values nothing is known: the half width is infinite.
struct Estimate {
  double mean = 0;
  double half_width = 0;
  std::size_t count = 0;
};
Estimate Estimated(std::span<const double> values);

// The value that Student's t stays within, either way, with 95 % probability.
double StudentQuantile(std::size_t degrees_of_freedom);

// Points that differ by their seed alone, in the order of the points.
struct SeedGroup {
  std::vector<std::pair<std::string, std::string>> settings;  // without the seed
  std::vector<std::size_t> points;
};
std::vector<SeedGroup> GroupBySeed(const std::vector<GridPoint>& points);

// Each point once for every seed from `first` on.
std::vector<GridPoint> WithSeeds(const std::vector<GridPoint>& points, std::uint64_t first,
                                 int count);

}  // namespace gopmill::sim
