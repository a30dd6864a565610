// SPDX-License-Identifier: Apache-2.0
//
// The descent through the scheduling tree that all tree policies share. At every node, from the
// root down, the child with the highest  w * g  is taken:
//     g = hash weight of (stream, child), raised to `exponent` so that a child with twice the
//         workers gets twice the streams (same winner as the score -workers / ln u);
//     w = Q'_min / Q' over the children (queue_weight.h);
//     Q' of a worker     = c[home][worker] * its queue
//     Q' of an inner node = 0 if any worker below is idle, else the sum over its workers, and per
//         worker when siblings differ in size.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010 (H-CAHRW); the "any" follows its explanation, not its equation.
//
// Why this is cheap: c depends only on the closest common node of home and worker. A subtree beside
// the path root -> home has one c for all its workers, so its weighted sum is c times the plain sum
// that LoadTree keeps; inside such a subtree c cancels out (not under the printed numerator, which
// has no c: there it is looked up). Only the path itself is summed up per
// decision. Cost: O(depth) + one hash per child of the nodes passed.
//
// Homes: the same descent with all queues empty, over all workers, in service or not; if it ends at
// one that is out of service, once more with the next digest of the stream, and so on. So a worker
// that leaves moves its own streams only, evenly to all others, and one that returns gets exactly
// its own back, whatever the shape of the tree.
//
// Thread-safety: compatible (holds scratch space).
#pragma once

#include <array>
#include <vector>

#include "scheduler/pool_state.h"

namespace gopmill {

// Whether the communication ratios count (h-cahrw) or are all taken as 1 (h-ahrw).
enum class Distances { kCounted, kIgnored };

// Workers that a choice must not return. Adding one costs O(depth).
class ExclusionSet {
 public:
  explicit ExclusionSet(const LoadTree& tree)
      : available_(static_cast<std::size_t>(tree.node_count()), 0), idle_(available_) {}
  void Add(const LoadTree& tree, WorkerId worker) { Count(tree, worker, 1); }
  void Remove(const LoadTree& tree, WorkerId worker) { Count(tree, worker, -1); }

 private:
  friend class TreeChoice;
  void Count(const LoadTree& tree, WorkerId worker, int sign);

  // By node: how many of its workers in service, and of its idle ones, are in the set.
  std::vector<int> available_;
  std::vector<int> idle_;
};

class TreeChoice {
 public:
  TreeChoice(const PolicyOptions& options, const LoadTree& tree,
             Distances distances = Distances::kCounted);

  // By the rule of the options (HomeRule): the descent, or plain hashing over all workers.
  [[nodiscard]] StreamHome Home(StreamId stream, const PoolState& pool) const;
  // By the descent.
  [[nodiscard]] StreamHome Home(StreamId stream, const LoadTree& tree) const;
  // The worker for one unit of a stream; never `excluded` (-1: nobody). -1 if nobody is left.
  [[nodiscard]] WorkerId Choose(const LoadTree& tree, const StreamHome& home, WorkerId excluded);
  // The same with any number of workers excluded. The set does not change the queues of the nodes
  // above them, only who can be chosen.
  [[nodiscard]] WorkerId ChooseOutside(const LoadTree& tree, const StreamHome& home,
                                       const ExclusionSet& set);

 private:
  struct Queue {
    double weighted = 0;
    double plain = 0;
    bool usable = false;
  };
  using PathSums = std::array<double, kMaxTreeDepth>;

  [[nodiscard]] double Ratio(const LoadNode& node) const {
    return distances_ == Distances::kCounted ? node.ratio : 1.0;
  }
  [[nodiscard]] PathSums SumHomePath(const LoadTree& tree, WorkerId home) const;
  // Workers of a child that may be chosen, and how many of them are idle.
  struct Usable {
    int available = 0;
    int idle = 0;
  };
  [[nodiscard]] double RatioOffPath(const LoadTree& tree, const LoadNode& parent,
                                    WorkerId home) const;
  [[nodiscard]] Queue QueueOf(const LoadNode& child, double ratio, const StreamHome& home,
                              const PathSums& path, Usable usable) const;
  template <class CountUsable>
  [[nodiscard]] int BestChild(const LoadTree& tree, const LoadNode& parent, const StreamHome& home,
                              const PathSums& path, CountUsable usable);
  template <class CountUsable>
  [[nodiscard]] WorkerId Descend(const LoadTree& tree, const StreamHome& home, CountUsable usable);

  const PolicyOptions options_;
  const Distances distances_;
  std::vector<Queue> queues_;  // of the children of one node
};

}  // namespace gopmill
