// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/replication.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace gopmill::sim {

double StudentQuantile(std::size_t degrees_of_freedom) {
  // From tables; further on four terms of the series about the normal quantile give three digits.
  constexpr std::array kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  if (degrees_of_freedom == 0) return std::numeric_limits<double>::infinity();
  if (degrees_of_freedom <= kTable.size()) return kTable[degrees_of_freedom - 1];
  constexpr double kNormal = 1.95996;
  const double z3 = std::pow(kNormal, 3), z5 = std::pow(kNormal, 5), z7 = std::pow(kNormal, 7);
  const auto n = static_cast<double>(degrees_of_freedom);
  return kNormal + (z3 + kNormal) / (4 * n) + (5 * z5 + 16 * z3 + 3 * kNormal) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * kNormal) / (384 * n * n * n);
}

Estimate Estimated(std::span<const double> values) {
  Estimate estimate{.half_width = std::numeric_limits<double>::infinity(), .count = values.size()};
  if (values.empty()) return estimate;
  const auto count = static_cast<double>(values.size());
  estimate.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return estimate;
  double squares = 0;
  for (const double value : values) squares += (value - estimate.mean) * (value - estimate.mean);
  estimate.half_width =
      StudentQuantile(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return estimate;
}

std::vector<SeedGroup> GroupBySeed(const std::vector<GridPoint>& points) {
  std::vector<SeedGroup> groups;
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> known;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto settings = points[i].settings;
    std::erase_if(settings, [](const auto& setting) { return setting.first == "seed"; });
    const auto [place, is_new] = known.try_emplace(settings, groups.size());
    if (is_new) groups.push_back({.settings = std::move(settings), .points = {}});
    groups[place->second].points.push_back(i);
  }
  return groups;
}

std::vector<GridPoint> WithSeeds(const std::vector<GridPoint>& points, std::uint64_t first,
                                 int count) {
  std::vector<GridPoint> replicated;
  for (const GridPoint& point : points) {
    for (int i = 0; i < count; ++i) {
      GridPoint& added = replicated.emplace_back(point);
      added.experiment.seed = first + static_cast<std::uint64_t>(i);
      added.settings.emplace_back("seed", fmt::format("{}", added.experiment.seed));
    }
  }
  return replicated;
}

}  // namespace gopmill::sim
