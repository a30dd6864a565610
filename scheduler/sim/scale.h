// SPDX-License-Identifier: Apache-2.0
//
// How policies behave from 1 to 4,096 PUs and from 1 to 10,000 streams: throughput, order, jitter,
// cost of decisions, error of shares. The grid, and its results as charts.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/report.h"

namespace gopmill::sim {

// Three classes 5:3:1 under closed arrivals. First the machines, then the streams; the settings
// tell which ("pus" or "streams" is the one that grows, "axis" names it).
std::vector<GridPoint> ScaleGrid(const Experiment& base);

// The policies shown when none are asked for.
std::vector<std::string> ScalePolicies();

// File name and SVG text, one per figure and axis; that of the time of decisions only if asked for.
std::vector<std::pair<std::string, std::string>> ScaleCharts(
    const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
    const std::vector<std::string>& policies, Timing timing = Timing::kLeftOut);

}  // namespace gopmill::sim
