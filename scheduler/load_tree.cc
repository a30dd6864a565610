// SPDX-License-Identifier: Apache-2.0
#include "scheduler/load_tree.h"

#include <algorithm>

namespace gopmill {

LoadTree::LoadTree(const Topology& topology, std::span<const int> worker_pus,
                   const PolicyOptions& options)
    : leaves_(worker_pus.size(), -1) {
  // parts[i] is the topology node behind nodes_[i].
  std::vector<int> parts;
  AddChild(-1, 0, 0, static_cast<int>(worker_pus.size()), parts);
  // Breadth first: nodes_ grows while we walk it, and siblings end up side by side.
  for (int i = 0; i < node_count(); ++i) {
    Split(i, topology, worker_pus, options, parts);
  }
}

void LoadTree::AddChild(int parent, int part, int first_worker, int size, std::vector<int>& parts) {
  LoadNode child;
  // Every node has an id of its own, also across levels; see rendezvous.h.
  child.candidate = Candidate::Of(static_cast<std::uint32_t>(nodes_.size()));
  child.parent = parent;
  child.depth = parent < 0 ? 0 : node(parent).depth + 1;
  child.first_worker = first_worker;
  child.size = child.available = child.idle = child.vacant = size;
  nodes_.push_back(child);
  parts.push_back(part);
}

void LoadTree::Split(int index, const Topology& topology, std::span<const int> worker_pus,
                     const PolicyOptions& options, std::vector<int>& parts) {
  const int first = node(index).first_worker;
  const int end = first + node(index).size;
  if (node(index).size == 1) {
    leaves_[static_cast<std::size_t>(first)] = index;
    return;
  }
  const auto pu_of = [&](int worker) { return worker_pus[static_cast<std::size_t>(worker)]; };
  // Go down while all workers are below the same child.
  int part = parts[static_cast<std::size_t>(index)];
  const auto part_node = [&] { return &topology.nodes()[static_cast<std::size_t>(part)]; };
  const auto holds = [&](int candidate, int worker) {
    const TopologyNode& n = topology.nodes()[static_cast<std::size_t>(candidate)];
    return n.first_pu <= pu_of(worker) && pu_of(worker) < n.first_pu + n.pu_count;
  };
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (const int child : part_node()->children) {
      if (holds(child, first) && holds(child, end - 1)) {
        part = child;
        deeper = true;
        break;
      }
    }
  }
  const int first_child = node_count();
  if (part_node()->kind == NodeKind::kPu) {
    for (int w = first; w < end; ++w) AddChild(index, part, w, 1, parts);
  } else {
    int from = first;
    for (const int child : part_node()->children) {
      int to = from;
      while (to < end && holds(child, to)) ++to;
      if (to > from) AddChild(index, child, from, to - from, parts);
      from = to;
    }
  }
  LoadNode& self = nodes_[static_cast<std::size_t>(index)];
  self.ratio = options.ratios.levels.At(topology.SharedKind(part));
  self.first_child = first_child;
  self.child_count = node_count() - first_child;
  max_fan_out_ = std::max(max_fan_out_, self.child_count);
  NumberChildren(self, options);
}

void LoadTree::NumberChildren(const LoadNode& parent, const PolicyOptions& options) {
  const double mean = static_cast<double>(parent.size) / parent.child_count;
  for (int i = 0; i < parent.child_count; ++i) {
    LoadNode& child =
        nodes_[static_cast<std::size_t>(parent.first_child) + static_cast<std::size_t>(i)];
    if (options.children == ChildRule::kByWorkers) child.exponent = mean / child.size;
    if (options.node_ids == NodeIdRule::kPerLevel) {
      child.candidate = Candidate::Of(static_cast<std::uint32_t>(i));
    }
  }
}

void LoadTree::SetLoad(WorkerId worker, std::uint64_t bytes) {
  LoadNode& leaf = nodes_[static_cast<std::size_t>(leaf_index(worker))];
  if (leaf.load == bytes) return;
  if (leaf.available > 0) Apply(leaf, -1);
  leaf.load = bytes;
  leaf.idle = leaf.available > 0 && bytes == 0 ? 1 : 0;
  if (leaf.available > 0) Apply(leaf, 1);
}

void LoadTree::SetAvailable(WorkerId worker, bool available) {
  LoadNode& leaf = nodes_[static_cast<std::size_t>(leaf_index(worker))];
  if ((leaf.available > 0) == available) return;
  if (!available) Apply(leaf, -1);
  leaf.available = available ? 1 : 0;
  leaf.idle = available && leaf.load == 0 ? 1 : 0;
  if (available) Apply(leaf, 1);
}

void LoadTree::SetVacant(WorkerId worker, bool vacant) {
  if ((leaf(worker).vacant > 0) == vacant) return;
  for (int i = leaf_index(worker); i >= 0; i = node(i).parent) {
    nodes_[static_cast<std::size_t>(i)].vacant += vacant ? 1 : -1;
  }
}

// Adds (sign 1) or takes away (sign -1) what the leaf is worth in each of its ancestors.
void LoadTree::Apply(const LoadNode& leaf, int sign) {
  for (int i = leaf.parent; i >= 0;) {
    LoadNode& above = nodes_[static_cast<std::size_t>(i)];
    above.available += sign * leaf.available;
    above.idle += sign * leaf.idle;
    above.load = sign > 0 ? above.load + leaf.load : above.load - leaf.load;
    i = above.parent;
  }
}

}  // namespace gopmill
