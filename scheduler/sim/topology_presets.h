// SPDX-License-Identifier: Apache-2.0
//
// The machines of a simulation: well-known ones by name, and any that hwloc can describe.
//
// Thread-safety: safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scheduler/comm_ratios.h"
#include "scheduler/topology.h"

namespace gopmill::sim {

struct TopologyPreset {
  std::string_view name;
  std::string_view synthetic;  // hwloc's notation
  std::string_view description;
};

std::span<const TopologyPreset> TopologyPresets();

// A machine with its communication ratios.
struct Machine {
  std::string name;
  Topology topology;
  CommRatios ratios = {};
};

// `text`: the name of a preset, "pu:N" (N alike PUs), "chiplet:N" (N PUs in L3 groups of 8, up to
// 16 groups per package), a synthetic description, or the path of an hwloc XML file (it ends in
// .xml). At most kMaxPus PUs. Errors name the parameter "topology".
Result<Machine> LoadMachine(const std::string& text);

}  // namespace gopmill::sim
