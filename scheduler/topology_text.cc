// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gopmill {
namespace {

constexpr int kMaxFullMatrix = 32;

std::string Bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024;
  if (bytes >= kKiB * kKiB && bytes % (kKiB * kKiB) == 0) {
    return fmt::format("{} MiB", bytes / (kKiB * kKiB));
  }
  return fmt::format("{} KiB", bytes / kKiB);
}

std::string_view Title(NodeKind kind) {
  switch (kind) {
    case NodeKind::kMachine: return "machine";
    case NodeKind::kPackage: return "package";
    case NodeKind::kNuma: return "NUMA node";
    case NodeKind::kL3: return "L3";
    case NodeKind::kL2: return "L2";
    case NodeKind::kCore: return "core";
    case NodeKind::kPu: return "PU";
  }
  return "machine";
}

std::string Label(const TopologyNode& node) {
  std::string label(Title(node.kind));
  if (node.kind == NodeKind::kMachine) {
    return fmt::format("{}, {} PU{}", label, node.pu_count, node.pu_count == 1 ? "" : "s");
  }
  if (node.os_index >= 0) label += fmt::format(" {}", node.os_index);
  if (node.cache_bytes > 0) label += ", " + Bytes(node.cache_bytes);
  return label;
}

void AppendSubtree(const Topology& topology, int index, const std::string& indent,
                   std::string& text) {
  const TopologyNode& node = topology.nodes()[static_cast<std::size_t>(index)];
  text += Label(node) + "\n";
  for (const int child : node.children) {
    text += indent + "+- ";
    const bool last = child == node.children.back();
    AppendSubtree(topology, child, indent + (last ? "   " : "|  "), text);
  }
}

std::string LevelLines(const Topology& topology, const LevelRatios& ratios) {
  constexpr std::array kLevels = {NodeKind::kCore, NodeKind::kL2,      NodeKind::kL3,
                                  NodeKind::kNuma, NodeKind::kPackage, NodeKind::kMachine};
  std::string text;
  for (const NodeKind kind : kLevels) {
    if (topology.Count(kind) == 0) continue;
    text += fmt::format("same {:<10} {:.2f}\n", Title(kind), ratios.At(kind));
  }
  return text;
}

}  // namespace

std::string TopologyTreeText(const Topology& topology) {
  std::string text;
  AppendSubtree(topology, 0, "", text);
  return text;
}

std::string AllowedCpusText(const Topology& topology) {
  std::vector<int> cpus;
  for (int pu = 0; pu < topology.pu_count(); ++pu) cpus.push_back(topology.pu(pu).os_index);
  std::ranges::sort(cpus);
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += fmt::format("{}", cpus[i]);
    if (last > i) text += fmt::format("-{}", cpus[last]);
    i = last + 1;
  }
  return text;
}

std::string CommRatiosText(const Topology& topology, const LevelRatios& ratios) {
  const int pus = topology.pu_count();
  if (pus > kMaxFullMatrix) return LevelLines(topology, ratios);
  std::string text = "  CPU";
  for (int j = 0; j < pus; ++j) text += fmt::format(" {:>5}", topology.pu(j).os_index);
  text += "\n";
  for (int i = 0; i < pus; ++i) {
    text += fmt::format("{:>5}", topology.pu(i).os_index);
    for (int j = 0; j < pus; ++j) {
      const double ratio = i == j ? 1.0 : ratios.At(topology.ClosestCommon(i, j));
      text += fmt::format(" {:>5.2f}", ratio);
    }
    text += "\n";
  }
  return text;
}

}  // namespace gopmill
