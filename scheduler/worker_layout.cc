// SPDX-License-Identifier: Apache-2.0
#include "scheduler/worker_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gopmill {

int DefaultWorkerCount(const Topology& topology, std::optional<double> quota_cpus) {
  const int pus = topology.pu_count();
  if (!quota_cpus || *quota_cpus >= pus) return pus;
  return std::max(1, static_cast<int>(std::ceil(*quota_cpus)));
}

std::vector<int> LayOutWorkers(const Topology& topology, int workers) {
  const int pus = topology.pu_count();
  std::vector<int> chosen;
  if (workers >= pus) {
    for (int pu = 0; pu < pus; ++pu) {
      const int share = workers / pus + (pu < workers % pus ? 1 : 0);
      chosen.insert(chosen.end(), static_cast<std::size_t>(share), pu);
    }
    return chosen;
  }
  // First the first PU of each core, then the second ones, and so on.
  std::vector<std::pair<int, int>> by_rank;
  for (int pu = 0; pu < pus; ++pu) {
    const TopologyNode& above = topology.nodes()[static_cast<std::size_t>(topology.pu(pu).parent)];
    by_rank.emplace_back(above.kind == NodeKind::kCore ? pu - above.first_pu : 0, pu);
  }
  std::ranges::sort(by_rank);
  for (int i = 0; i < workers; ++i) chosen.push_back(by_rank[static_cast<std::size_t>(i)].second);
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<bool> InServiceOf(const Topology& topology, std::span<const int> worker_pus,
                              int wanted) {
  const auto started = static_cast<int>(worker_pus.size());
  const std::vector<int> kept = LayOutWorkers(topology, std::min(wanted, started));
  // Both lists go up, and all of the second one is in the first.
  std::vector<bool> in_service(worker_pus.size(), false);
  std::size_t next = 0;
  for (std::size_t i = 0; i < worker_pus.size() && next < kept.size(); ++i) {
    if (worker_pus[i] != kept[next]) continue;
    in_service[i] = true;
    ++next;
  }
  return in_service;
}

}  // namespace gopmill
