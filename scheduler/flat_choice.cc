// SPDX-License-Identifier: Apache-2.0
#include "scheduler/flat_choice.h"

#include <utility>

#include "scheduler/queue_weight.h"

namespace gopmill {

FlatChoice::FlatChoice(const PolicyOptions& options, std::vector<double> ratios, int workers)
    : options_(options), ratios_(std::move(ratios)), weighted_(static_cast<std::size_t>(workers)) {}

WorkerId FlatChoice::Choose(const Unit& unit, const PoolState& pool) {
  if (unit.home.worker.value < 0) return {};
  const std::size_t n = weighted_.size();
  const std::size_t row = static_cast<std::size_t>(unit.home.worker.value) * n;
  const auto usable = [&](std::size_t i) {
    const WorkerId w{static_cast<std::int32_t>(i)};
    return pool.available(w) && w != unit.excluded;
  };
  QueueWeights weights(options_);
  for (std::size_t i = 0; i < n; ++i) {
    const auto queue = static_cast<double>(pool.loads()[i]);
    weighted_[i] = ratios_.empty() ? queue : ratios_[row + i] * queue;
    if (usable(i)) weights.See(weighted_[i], queue);
  }
  WorkerId best;
  double best_score = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = weights.Of(weighted_[i]);
    if (weight <= 0 || !usable(i)) continue;
    const double score = weight * Weight(options_.hash, unit.home.key, pool.candidates()[i]);
    if (score > best_score) {
      best_score = score;
      best = WorkerId{static_cast<std::int32_t>(i)};
    }
  }
  return best;
}

}  // namespace gopmill
