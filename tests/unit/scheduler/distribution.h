// SPDX-License-Identifier: Apache-2.0
//
// Chi-square against a stated distribution, for tests of hash functions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gopmill {

// Chi-square per degree of freedom of counts whose expectation is in proportion to `shares`. About
// 1 for the right distribution, whatever the number of cells.
inline double ChiSquarePerDegree(const std::vector<std::uint64_t>& counts,
                                 const std::vector<double>& shares) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ULL));
  const double all_shares = std::accumulate(shares.begin(), shares.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * shares[i] / all_shares;
    const double off = static_cast<double>(counts[i]) - expected;
    sum += off * off / expected;
  }
  return sum / static_cast<double>(counts.size() - 1);
}

inline double ChiSquarePerDegree(const std::vector<std::uint64_t>& counts) {
  return ChiSquarePerDegree(counts, std::vector<double>(counts.size(), 1.0));
}

// What chi-square per degree of freedom stays below by five standard deviations (at least) when the
// distribution is right.
inline double ChiSquareLimit(std::size_t cells) {
  return 1.0 + 5.0 * std::sqrt(2.0 / static_cast<double>(cells - 1));
}

}  // namespace gopmill
