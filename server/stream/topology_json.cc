// SPDX-License-Identifier: Apache-2.0
#include "server/stream/topology_json.h"

#include <nlohmann/json.hpp>

namespace gopmill {
namespace {

nlohmann::ordered_json NodeJson(const Topology& topology, int index) {
  const TopologyNode& node = topology.nodes()[static_cast<std::size_t>(index)];
  nlohmann::ordered_json json = {{"kind", NodeKindName(node.kind)}};
  if (node.os_index >= 0) json["os_index"] = node.os_index;
  if (node.cache_bytes > 0) json["cache_bytes"] = node.cache_bytes;
  for (const int child : node.children) json["children"].push_back(NodeJson(topology, child));
  return json;
}

}  // namespace

nlohmann::ordered_json MachineJson(const Topology& topology) { return NodeJson(topology, 0); }

}  // namespace gopmill
