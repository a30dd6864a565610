// SPDX-License-Identifier: Apache-2.0
//
// The scheduling tree: the topology reduced to the places where there is something to choose, with
// the queues of the workers summed up at every node.
//
//   root           load 900, idle 1        leaves are workers; levels with a single child are
//   +-- node       load 500, idle 0        skipped (a chain package - L3 counts as its innermost
//   |   +-- w0 300                         part, since that is what the workers below it share)
//   |   +-- w1 200
//   +-- node       load 400, idle 1
//       +-- w2 400
//       +-- w3   0
//
// Guarantees: a change of one queue costs O(depth), and so does taking a worker out; nothing is
// ever summed over all workers. Children of a node are contiguous, and every node knows the range
// of workers below it, so "is w below n" is two comparisons.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "scheduler/policy_options.h"
#include "scheduler/topology.h"

namespace gopmill {

// machine, package, NUMA node, L3, L2, core, PU and the workers that share a PU.
inline constexpr int kMaxTreeDepth = 8;

struct LoadNode {
  // Set when the tree is built.
  Candidate candidate;
  double ratio = 1;     // c of two workers whose closest common node is this one
  double exponent = 1;  // mean size of the siblings / own size (ChildRule::kByWorkers), else 1
  int parent = -1;
  int depth = 0;
  int first_child = 0;
  int child_count = 0;  // 0 = a worker
  int first_worker = 0;
  int size = 0;  // workers below, out of service or not

  // Kept up to date.
  int available = 0;       // workers below that are in service
  int idle = 0;            // of these, with an empty queue as policies compare it
  int vacant = 0;          // of these, without any unit, a running one included
  std::uint64_t load = 0;  // their queues together, in bytes

  [[nodiscard]] bool leaf() const { return child_count == 0; }
  [[nodiscard]] bool Holds(WorkerId worker) const {
    return first_worker <= worker.value && worker.value < first_worker + size;
  }
};

class LoadTree {
 public:
  // `worker_pus`: for every worker the index of its PU in topology.pus(), not decreasing.
  LoadTree(const Topology& topology, std::span<const int> worker_pus, const PolicyOptions& options);

  // Node 0 is the root; parents come before their children.
  [[nodiscard]] const LoadNode& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::span<const LoadNode> children(const LoadNode& parent) const {
    return std::span(nodes_).subspan(static_cast<std::size_t>(parent.first_child),
                                     static_cast<std::size_t>(parent.child_count));
  }
  [[nodiscard]] int leaf_index(WorkerId worker) const {
    return leaves_[static_cast<std::size_t>(worker.value)];
  }
  [[nodiscard]] const LoadNode& leaf(WorkerId worker) const { return node(leaf_index(worker)); }
  [[nodiscard]] int node_count() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int max_fan_out() const { return max_fan_out_; }

  // The queue of a worker is now `bytes`.
  void SetLoad(WorkerId worker, std::uint64_t bytes);
  // Takes a worker out of all sums and counts, or back in. Its own load is remembered.
  void SetAvailable(WorkerId worker, bool available);
  // The worker is in service and has no unit: other than `idle` under RunningRule::kNotCounted.
  void SetVacant(WorkerId worker, bool vacant);

 private:
  void Split(int index, const Topology& topology, std::span<const int> worker_pus,
             const PolicyOptions& options, std::vector<int>& parts);
  void NumberChildren(const LoadNode& parent, const PolicyOptions& options);
  void AddChild(int parent, int part, int first_worker, int size, std::vector<int>& parts);
  void Apply(const LoadNode& leaf, int sign);

  std::vector<LoadNode> nodes_;
  std::vector<int> leaves_;  // worker -> node
  int max_fan_out_ = 0;
};

}  // namespace gopmill
