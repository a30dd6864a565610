// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/reload_transient.h"

#include <algorithm>
#include <cmath>

namespace gopmill::sim {

double DisplacedShare(const CacheGeometry& cache, const ReferenceStream& stream, double away_ms) {
  const double references = away_ms * 1e-3 * stream.clock_hz / stream.cycles_per_reference;
  // Below one reference the power law means nothing; nothing is displaced.
  if (references <= 1) return 0;
  const double log_r = std::log10(references);
  const double log_l = std::log10(cache.line_bytes);
  const double log_u =
      std::log10(stream.w) + stream.a * log_l + stream.b * log_r + stream.log_d * log_l * log_r;
  const double touched = std::pow(10.0, log_u);
  return std::clamp(-std::expm1(touched * std::log1p(-1 / cache.lines)), 0.0, 1.0);
}

double TwoLevelTime(const TwoLevelTimes& times, double f1, double f2) {
  return (1 - f1) * times.hot_hot + f1 * ((1 - f2) * times.cold_hot + f2 * times.cold_cold);
}

}  // namespace gopmill::sim
