// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace gopmill {
namespace {

// A part is told apart from its siblings by kind and key.
using PartKey = std::pair<NodeKind, int>;

Error BadTopology(std::string message) {
  return Error{.code = Code::kInvalidArgument, .message = std::move(message)};
}

Status CheckPaths(std::span<const TopologyPath> paths) {
  if (paths.empty()) return BadTopology("The topology has no usable PU.");
  if (paths.size() > static_cast<std::size_t>(kMaxPus)) {
    return BadTopology("The topology has " + std::to_string(paths.size()) + " PUs; at most " +
                       std::to_string(kMaxPus) + " are supported.");
  }
  std::set<int> seen;
  for (const TopologyPath& path : paths) {
    if (path.parts.empty() || path.parts.back().kind != NodeKind::kPu) {
      return BadTopology("A path of the topology does not end in a PU.");
    }
    if (!seen.insert(path.parts.back().os_index).second) {
      return BadTopology("PU " + std::to_string(path.parts.back().os_index) +
                         " occurs twice in the topology.");
    }
  }
  return OkStatus();
}

// Fills first_pu and pu_count of the subtree and lists its PUs, depth first.
void NumberPus(std::vector<TopologyNode>& nodes, int index, std::vector<int>& pus) {
  const auto at = static_cast<std::size_t>(index);
  nodes[at].first_pu = static_cast<int>(pus.size());
  if (nodes[at].kind == NodeKind::kPu) pus.push_back(index);
  for (const int child : nodes[at].children) NumberPus(nodes, child, pus);
  nodes[at].pu_count = static_cast<int>(pus.size()) - nodes[at].first_pu;
}

}  // namespace

std::string_view NodeKindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kMachine: return "machine";
    case NodeKind::kPackage: return "package";
    case NodeKind::kNuma: return "numa";
    case NodeKind::kL3: return "l3";
    case NodeKind::kL2: return "l2";
    case NodeKind::kCore: return "core";
    case NodeKind::kPu: return "pu";
  }
  return "machine";
}

Result<Topology> Topology::FromPaths(std::span<const TopologyPath> paths) {
  GOPMILL_RETURN_IF_ERROR(CheckPaths(paths));
  Topology topology;
  topology.nodes_.emplace_back();
  // Children of each node by their key, only needed while the tree grows.
  std::vector<std::vector<std::pair<PartKey, int>>> index(1);
  for (const TopologyPath& path : paths) {
    int node = 0;
    for (const TopologyPath::Part& part : path.parts) {
      const PartKey key{part.kind, part.key};
      auto& siblings = index[static_cast<std::size_t>(node)];
      // PUs come in machine order, so the part wanted is nearly always the last one.
      const auto found = std::find_if(siblings.rbegin(), siblings.rend(),
                                      [&](const auto& entry) { return entry.first == key; });
      if (found != siblings.rend()) {
        node = found->second;
        continue;
      }
      const int child = topology.AddChild(node, part);
      siblings.emplace_back(key, child);
      index.emplace_back();
      node = child;
    }
  }
  NumberPus(topology.nodes_, 0, topology.pus_);
  return topology;
}

int Topology::AddChild(int parent, const TopologyPath::Part& part) {
  const int index = static_cast<int>(nodes_.size());
  TopologyNode node;
  node.kind = part.kind;
  node.os_index = part.os_index;
  node.cache_bytes = part.cache_bytes;
  node.parent = parent;
  nodes_.push_back(std::move(node));
  nodes_[static_cast<std::size_t>(parent)].children.push_back(index);
  return index;
}

NodeKind Topology::SharedKind(int index) const {
  const TopologyNode& node = nodes_[static_cast<std::size_t>(index)];
  const bool holds_packages = std::ranges::any_of(node.children, [&](int child) {
    return nodes_[static_cast<std::size_t>(child)].kind == NodeKind::kPackage;
  });
  return holds_packages ? NodeKind::kMachine : node.kind;
}

NodeKind Topology::ClosestCommon(int pu_a, int pu_b) const {
  int node = pus_[static_cast<std::size_t>(pu_a)];
  while (true) {
    const TopologyNode& part = nodes_[static_cast<std::size_t>(node)];
    if (part.first_pu <= pu_b && pu_b < part.first_pu + part.pu_count) return SharedKind(node);
    node = part.parent;
  }
}

int Topology::Count(NodeKind kind) const {
  return static_cast<int>(std::ranges::count(nodes_, kind, &TopologyNode::kind));
}

}  // namespace gopmill
