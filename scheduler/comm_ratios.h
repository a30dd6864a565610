// SPDX-License-Identifier: Apache-2.0
//
// What it costs to do a stream's work away from its home. For PUs i (home) and j,
//     c[i][j] = (Comp_j + Mem_j + Comm_ji) / (Comp_i + Mem_i)  >= 1,  symmetric, c[i][i] = 1
// and the cache-aware policies multiply the queue of j by c[home][j] before they compare queues.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010.
//
// Two forms: one value per level of the lowest part of the machine that holds both PUs (every
// policy), or a free matrix (flat policies, up to 256 workers; for meshes and experiments).
//
// Thread-safety: compatible (plain values).
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/topology.h"

namespace gopmill {

inline constexpr int kMaxMatrixWorkers = 256;

// The ratio between two PUs by what they share at closest. The defaults are starting values in the
// spirit of the published ones, for machines with an L3 per chiplet; they are not measured ones.
struct LevelRatios {
  double pu = 1.0;       // two workers on one PU
  double core = 1.0;     // two threads of one core: same L1, same L2
  double l2 = 1.25;      // two cores with a common L2
  double l3 = 1.5;       // a common L3
  double numa = 2.0;     // a common memory node
  double package = 2.5;  // only the socket
  double machine = 3.0;  // nothing but the machine

  [[nodiscard]] double At(NodeKind closest_common) const;
};

struct CommRatios {
  LevelRatios levels = {};
  // Row-major N x N; empty = derived from `levels`. Only flat policies accept one.
  std::vector<double> matrix = {};
};

// Published by trial and error for two machines: two sockets x two L2 x two cores, and two sockets
// x four cores with one L3 each. Their topologies as hwloc synthetic descriptions beside them.
LevelRatios XeonE5335Ratios();
LevelRatios Opteron2350Ratios();
inline constexpr const char* kXeonE5335Synthetic = "pack:2 l2:2 core:2 pu:1";
inline constexpr const char* kOpteron2350Synthetic = "pack:2 l3:1 core:4 pu:1";

// A square mesh of `workers` tiles, row by row: 1 + a tenth of the hops between two tiles. Fails
// when `workers` is not a square number of at most kMaxMatrixWorkers.
Result<std::vector<double>> MeshRatios(int workers);

// Ok if all ratios are finite and >= 1, none falls from a closer level to a farther one, and a
// matrix, if there is one, is `workers` x `workers`, symmetric, with ones on its diagonal.
Status ValidateRatios(const CommRatios& ratios, int workers);

// kInvalidArgument when there is a matrix: for policies that work on the tree.
Status RefuseMatrix(std::string_view policy, const CommRatios& ratios);

}  // namespace gopmill
