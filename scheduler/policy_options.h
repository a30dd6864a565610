// SPDX-License-Identifier: Apache-2.0
//
// The forms in which the rules of the policies can be applied. The defaults are the corrected
// forms; the others follow the publications to the letter and exist for comparison (see
// docs/SCHEDULING.md for what goes wrong with each of them).
//
// Thread-safety: compatible (plain values).
#pragma once

#include "scheduler/comm_ratios.h"
#include "scheduler/rendezvous.h"

namespace gopmill {

// Which queue is "the smallest" in weight = smallest / own.
enum class MinimumRule {
  kPlain,    // the smallest of all, zero included
  kNonZero,  // as printed in one place: the smallest that is not empty (starves idle workers)
};

// What stands above the fraction bar of the cache-aware weight.
enum class WeightRule {
  kWeightedMinimum,  // the smallest weighted queue: the best candidate has weight 1
  kPrintedMinimum,   // the smallest plain queue
};

// Whether the unit a worker is busy with counts as part of its queue.
enum class RunningRule {
  kCounted,     // in full until it is finished
  kNotCounted,  // as printed: a busy worker with an empty queue looks idle
};

// How the children of one tree node share the streams.
enum class ChildRule {
  kByWorkers,  // in proportion to the workers below them, queues per worker
  kEqual,      // as printed: the same share for each child, plain sums
};

struct PolicyOptions {
  HashKind hash = HashKind::kMixed;
  MinimumRule minimum = MinimumRule::kPlain;
  WeightRule weight = WeightRule::kWeightedMinimum;
  RunningRule running = RunningRule::kCounted;
  ChildRule children = ChildRule::kByWorkers;
  CommRatios ratios = {};
};

}  // namespace gopmill
