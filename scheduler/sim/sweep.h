// SPDX-License-Identifier: Apache-2.0
//
// Many runs: every policy at every point of a grid of parameters, on all cores.
//
// Thread-safety: safe; RunGrid makes threads and joins them.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace gopmill::sim {

inline constexpr std::size_t kMaxGridPoints = 10'000;

// One axis: "spread=0:0.6:0.1" (from, to, step; both ends included) or "contexts=1,2,4"; values
// that have commas themselves are separated by bars: "classes=a:5,b:1|a:1,b:1". The name
// is that of a parameter of an experiment, "seed", or "pus" (N stands for the topology chiplet:N).
struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
};
Result<SweepAxis> ParseSweep(const std::string& text);

struct GridPoint {
  Experiment experiment;
  std::vector<std::pair<std::string, std::string>> settings;  // what differs from the base
};
// The product of the axes; without axes the base alone. Every value is checked.
Result<std::vector<GridPoint>> MakeGrid(const Experiment& base, const std::vector<SweepAxis>& axes);

// One run of one policy at one point.
struct GridRun {
  std::size_t point = 0;
  std::string policy;
  std::optional<SimResult> result = {};  // empty when the policy cannot serve the point
  Error error = {};                      // then, why; kCancelled when it was stopped before its end
};

// Called after each run, one at a time, on any thread: runs done and runs there are.
using GridProgress = std::function<void(std::size_t done, std::size_t total)>;

// Point by point, policies in the order given. Fails if a point itself cannot be prepared.
Result<std::vector<GridRun>> RunGrid(const std::vector<GridPoint>& points,
                                     const std::vector<std::string>& policies, int threads,
                                     const GridProgress& progress,
                                     const std::stop_token& stop = {});

// Leaves out the points that not all policies came to the end of.
void KeepComplete(std::vector<GridPoint>& points, std::vector<GridRun>& runs);

}  // namespace gopmill::sim
