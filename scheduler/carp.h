// SPDX-License-Identifier: Apache-2.0
//
// Multipliers that make highest random weight hashing hit given shares.
//
// With g_1..g_N independent and uniform in (0, 1), argmax_j x_j * g_j is j with probability p_j if,
// for p_1 <= ... <= p_N with sum 1,
//     x_1 = (N p_1)^(1/N)
//     x_n = [ (N-n+1) (p_n - p_{n-1}) / prod_{i<n} x_i  +  x_{n-1}^(N-n+1) ]^(1/(N-n+1))
// Source: V. Valloppillil, K. W. Ross, "Cache Array Routing Protocol v1.0", 1998 (the "load factor"
// recursion), as used by D. Guo for PS-HRW and for the theoretical form of AHRW.
//
// The product is kept as a sum of logarithms: with N = 4,096 it leaves the range of doubles long
// before the multipliers lose precision.
//
// Thread-safety: compatible (holds scratch space).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gopmill {

class CarpMultipliers {
 public:
  explicit CarpMultipliers(std::size_t capacity);

  // The multiplier of each share; a share of 0 gets 0 and never wins. `shares` are >= 0, add up to
  // 1 and are at most `capacity` many. The result is valid until the next call. O(N log N) and N
  // calls of pow; does not allocate.
  std::span<const double> Of(std::span<const double> shares);

 private:
  std::vector<std::uint32_t> order_;
  std::vector<double> multipliers_;
};

}  // namespace gopmill
