// SPDX-License-Identifier: Apache-2.0
#include "server/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/quantile.h"

namespace gopmill::bench {
namespace {

// P(B = k) for B binomial (n, 1/2).
double BinomialHalf(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                  static_cast<double>(n) * std::log(2.0));
}

}  // namespace

Interval MedianInterval(std::vector<double> values, double level) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // From the whole range inwards, as long as the coverage stays at the level.
  std::size_t skipped = 0;
  double coverage = n == 1 ? 0.0 : 1.0 - 2.0 * BinomialHalf(n, 0);
  while (2 * (skipped + 1) + 1 < n) {
    const double next = coverage - 2.0 * BinomialHalf(n, skipped + 1);
    if (next < level) break;
    coverage = next;
    ++skipped;
  }
  return {.median = Median(values),
          .low = values[skipped],
          .high = values[n - 1 - skipped],
          .coverage = coverage,
          .values = static_cast<int>(n)};
}

}  // namespace gopmill::bench
