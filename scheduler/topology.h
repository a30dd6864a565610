// SPDX-License-Identifier: Apache-2.0
//
// The machine as the scheduler knows it: an immutable tree of its parts, restricted to the PUs this
// process may use.
//
//   machine
//   +-- package 0                     levels, outside in: machine, package, NUMA node, L3, L2,
//   |   +-- NUMA node 0               core, PU; each is left out where the machine has none
//   |       +-- L3 0
//   |       |   +-- L2 0
//   |       |   |   +-- core 0
//   |       |   |       +-- PU 0      PU = what the operating system calls a CPU
//   |       |   |       +-- PU 8
//
// Parts that hold no allowed PU are not in the tree. Levels with a single child stay (for display);
// the scheduling tree (load_tree.h) skips them. Where a machine nests differently (a memory node
// over several sockets, an L3 over several nodes), the bigger part comes first; parts that overlap
// without nesting are cut along each other.
//
// Thread-safety: compatible (immutable after construction).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace gopmill {

// One for each worker.
inline constexpr int kMaxPus = kMaxWorkers;

enum class NodeKind { kMachine, kPackage, kNuma, kL3, kL2, kCore, kPu };

// "machine", "package", "numa", "l3", "l2", "core", "pu": stable, for JSON and text.
std::string_view NodeKindName(NodeKind kind);

struct TopologyNode {
  NodeKind kind = NodeKind::kMachine;
  int os_index = -1;              // as the operating system numbers it; -1 where it does not
  std::uint64_t cache_bytes = 0;  // L2 and L3 only
  int parent = -1;                // index into nodes(), -1 for the root
  std::vector<int> children;      // indices into nodes(), in order of their PUs
  int first_pu = 0;               // the PUs below: pus()[first_pu, first_pu + pu_count)
  int pu_count = 0;
};

// One PU with all that is around it, outermost part first, the PU itself last.
struct TopologyPath {
  struct Part {
    NodeKind kind = NodeKind::kPu;
    int key = 0;  // tells parts of one kind apart
    int os_index = -1;
    std::uint64_t cache_bytes = 0;
  };
  std::vector<Part> parts;  // without the machine
};

class Topology {
 public:
  // The tree in which PUs with equal leading parts share them. Fails without PUs, with more than
  // kMaxPus, with a path that does not end in a PU, and with two PUs of one number.
  static Result<Topology> FromPaths(std::span<const TopologyPath> paths);

  // Node 0 is the machine; parents come before their children.
  [[nodiscard]] std::span<const TopologyNode> nodes() const { return nodes_; }
  // Index of each PU's node, in tree order: neighbours in this list are neighbours in the machine.
  [[nodiscard]] std::span<const int> pus() const { return pus_; }
  [[nodiscard]] int pu_count() const { return static_cast<int>(pus_.size()); }
  [[nodiscard]] const TopologyNode& pu(int index) const {
    return nodes_[static_cast<std::size_t>(pus_[static_cast<std::size_t>(index)])];
  }
  // What the children of a node have in common, as a kind with a price: its own kind, but "machine"
  // for a memory node (or anything else) that holds several packages.
  [[nodiscard]] NodeKind SharedKind(int node) const;
  // SharedKind of the smallest part that holds both PUs (indices into pus()).
  [[nodiscard]] NodeKind ClosestCommon(int pu_a, int pu_b) const;
  // How many nodes of a kind there are.
  [[nodiscard]] int Count(NodeKind kind) const;

 private:
  Topology() = default;
  int AddChild(int parent, const TopologyPath::Part& part);

  std::vector<TopologyNode> nodes_;
  std::vector<int> pus_;
};

}  // namespace gopmill
