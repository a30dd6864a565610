// SPDX-License-Identifier: Apache-2.0
//
// A topology as text for terminals: the tree with its caches, the list of allowed CPUs, and what
// the scheduler thinks a unit costs away from its home.
//
// Thread-safety: compatible (pure functions).
#pragma once

#include <string>

#include "scheduler/comm_ratios.h"
#include "scheduler/topology.h"

namespace gopmill {

// machine, 16 PUs
// +- package 0
// |  +- L3, 32 MiB
// ...
std::string TopologyTreeText(const Topology& topology);

// The allowed CPUs as the kernel writes lists: "0-3,8".
std::string AllowedCpusText(const Topology& topology);

// The matrix c[home][PU], with the CPU numbers as headings; up to 32 PUs in full, above that one
// line per level.
std::string CommRatiosText(const Topology& topology, const LevelRatios& ratios);

}  // namespace gopmill
