// SPDX-License-Identifier: Apache-2.0
#include "scheduler/carp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/status.h"

namespace gopmill {

CarpMultipliers::CarpMultipliers(std::size_t capacity) : order_(capacity), multipliers_(capacity) {}

std::span<const double> CarpMultipliers::Of(std::span<const double> shares) {
  GOPMILL_CHECK(shares.size() <= order_.size());
  const auto order = std::span(order_).first(shares.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return shares[a] != shares[b] ? shares[a] < shares[b] : a < b;
  });
  auto left = static_cast<double>(
      std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; }));
  double previous_share = 0;
  double previous = 0;
  double log_product = 0;
  for (const std::uint32_t i : order) {
    if (shares[i] <= 0) {
      multipliers_[i] = 0;
      continue;
    }
    // The recursion covers its own start: p_0 = 0 and x_0 = 0 give x_1 = (N p_1)^(1/N).
    const double step = left * (shares[i] - previous_share);
    const double grown = step > 0 ? std::exp(std::log(step) - log_product) : 0.0;
    const double x = std::pow(grown + std::pow(previous, left), 1 / left);
    multipliers_[i] = x;
    log_product += std::log(x);
    previous = x;
    previous_share = shares[i];
    left -= 1;
  }
  return std::span(multipliers_).first(shares.size());
}

}  // namespace gopmill
