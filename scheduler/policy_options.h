// SPDX-License-Identifier: Apache-2.0
//
// The forms in which the rules of the policies can be applied. The defaults are the corrected
// forms; the others follow the publications to the letter and exist for comparison (see
// docs/SCHEDULING.md for what goes wrong with each of them).
//
// Thread-safety: compatible (plain values).
#pragma once

#include <vector>

#include "scheduler/comm_ratios.h"
#include "scheduler/rendezvous.h"
#include "scheduler/service_class.h"

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

// What the queues that policies compare are measured in.
enum class QueueMeasure {
  kBytes,      // as printed: compressed bytes
  kPredicted,  // nanoseconds, learned on line (context_table.h); bytes until something was learned
};

// Which children make a parent's queue 0.
enum class ParentRule {
  kAnyIdle,  // one idle worker below is enough (the explanation in the source)
  kAllIdle,  // as the equation is printed: hides idle workers beside busy ones
};

// How tree nodes are numbered for the hash.
enum class NodeIdRule {
  kUnique,    // every node has an id of its own
  kPerLevel,  // as printed: 0..k-1 among siblings, so that all levels choose alike
};

// Where the distances of a tree policy are measured from.
enum class HomeRule {
  kDescent,  // the leaf that the same descent picks when all queues are empty
  kFlat,     // as printed: plain hashing over all workers
};

// The form of the proportional-share layer.
enum class ShareRule {
  kTwoLevel,  // cores among backlogged classes by weight, inside a class by waiting bytes
  kOneLevel,  // as printed: cores among streams by waiting bytes
};

// How a stream's set of workers is drawn.
enum class SetRule {
  kExcluding,  // each worker outside those that are in it
  kRepeated,   // as printed: the same choice again and again, which returns the same worker
};

struct PolicyOptions {
  HashKind hash = HashKind::kMixed;
  MinimumRule minimum = MinimumRule::kPlain;
  WeightRule weight = WeightRule::kWeightedMinimum;
  RunningRule running = RunningRule::kCounted;
  ChildRule children = ChildRule::kByWorkers;
  QueueMeasure measure = QueueMeasure::kBytes;
  ParentRule parent = ParentRule::kAnyIdle;
  NodeIdRule node_ids = NodeIdRule::kUnique;
  HomeRule home = HomeRule::kDescent;
  ShareRule share = ShareRule::kTwoLevel;
  SetRule sets = SetRule::kExcluding;
  // PS-HRW: sets are made anew when a share changed by more than this part of itself. 16 % is the
  // best value of the publication.
  double beta = 0.16;
  // Codec contexts that one worker is taken to keep (context_table.h).
  int contexts_per_worker = 8;
  CommRatios ratios = {};
  // Empty = one class. Units name theirs by index.
  std::vector<ServiceClass> classes = {};
};

}  // namespace gopmill
