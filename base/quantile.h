// SPDX-License-Identifier: Apache-2.0
//
// Quantiles by one rule, for what is measured and what is simulated: linear between the two values
// next to the place (type 7 of R. J. Hyndman, Y. Fan, "Sample Quantiles in Statistical Packages",
// 1996).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gopmill {

// The q-quantile, 0 <= q <= 1; 0 of no values. Reorders them.
template <class Number>
double Quantile(std::span<Number> values, double q) {
  if (values.empty()) return 0;
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double part = place - std::floor(place);
  if (part == 0) return *below;
  return *below + part * (*std::min_element(below + 1, values.end()) - *below);
}

inline double Quantile(std::vector<double> values, double q) {
  return Quantile(std::span(values), q);
}
inline double Median(std::vector<double> values) { return Quantile(std::span(values), 0.5); }

}  // namespace gopmill
