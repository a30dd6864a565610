// SPDX-License-Identifier: Apache-2.0
//
// Where topologies come from: this machine, a description in hwloc's synthetic notation, or a file
// written by `lstopo x.xml`. All of hwloc stays behind these three functions.
//
// Thread-safety: safe.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/status.h"
#include "scheduler/topology.h"

namespace gopmill {

struct DiscoverOptions {
  // Keep to the PUs that the affinity mask of the calling thread allows (taskset, cpusets); main
  // and what it starts have that of the process until somebody pins them. Off: all PUs that are
  // online and not forbidden by a cpuset, for display.
  bool respect_affinity = true;
};

Result<Topology> DiscoverTopology(const DiscoverOptions& options);

// For example "pack:2 numa:1 l3:4 core:8 pu:2" or "2 4 2".
Result<Topology> TopologyFromSynthetic(std::string_view description);

// An hwloc XML export (v1 or v2), at most 64 MiB and 4,096 PUs.
Result<Topology> TopologyFromXmlFile(const std::filesystem::path& file);

}  // namespace gopmill
