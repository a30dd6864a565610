// SPDX-License-Identifier: Apache-2.0
//
// Medians and how sure one can be of them.
//
// The interval of a median is the one between two order statistics: the k-th least and the k-th
// greatest of n values hold the true median between them with probability 1 - 2 P(B < k), B
// binomial (n, 1/2), whatever the distribution of the values is (W. R. Thompson, "On confidence
// ranges for the median", Annals of Mathematical Statistics 7, 1936). Fewer than six values cannot
// hold it with 95 %; then the whole range is given, with the probability it has.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <vector>

namespace gopmill::bench {

struct Interval {
  double median = 0, low = 0, high = 0;
  double coverage = 0;  // probability with which low..high holds the true median
  int values = 0;       // how many it was made from
};

// The narrowest symmetric interval with a coverage of at least `level`, or the whole range.
Interval MedianInterval(std::vector<double> values, double level = 0.95);

}  // namespace gopmill::bench
