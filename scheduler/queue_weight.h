// SPDX-License-Identifier: Apache-2.0
//
// The adaptive weight of the AHRW family (Guo 2010): a candidate with queue Q has
//     w = Q_min / Q, and w = 1 when Q = 0
// so that while any candidate is idle the busy ones score 0, and otherwise the shorter queue is
// favoured in proportion. Q_min is the smallest queue of all, zero included; taking the smallest
// one that is not empty (printed once) gives the least loaded *busy* candidate weight 1 as well,
// and idle workers starve.
//
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <limits>

#include "scheduler/policy_options.h"

namespace gopmill {

// Collects the smallest queue of a set of candidates and gives out their weights afterwards.
class QueueWeights {
 public:
  explicit QueueWeights(const PolicyOptions& options) : options_(options) {}

  // One candidate: its queue with and without the communication ratio (any unit, >= 0).
  void See(double weighted, double plain) {
    const double queue = options_.weight == WeightRule::kWeightedMinimum ? weighted : plain;
    if (options_.minimum == MinimumRule::kNonZero && queue <= 0) return;
    smallest_ = std::min(smallest_, queue);
  }
  // In [0, 1]; 0 means: cannot win, do not bother to hash.
  [[nodiscard]] double Of(double weighted) const {
    return weighted <= 0 ? 1.0 : smallest_ / weighted;
  }

 private:
  const PolicyOptions& options_;
  double smallest_ = std::numeric_limits<double>::infinity();
};

}  // namespace gopmill
