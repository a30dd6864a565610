// SPDX-License-Identifier: Apache-2.0
//
// Results of a grid as a table for people, as CSV and as JSON. CSV and JSON are the same bytes
// whenever the same grid is run again; what the real clock says (decision_us, run_seconds) is in
// them only if asked for. The table has it always.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/sweep.h"

namespace gopmill::sim {

// All figures of a run by name, in the order of the CSV columns.
struct Figure {
  std::string_view name;     // column, JSON key
  std::string_view heading;  // of the table; empty = not in it
  double SimResult::*value = nullptr;
  double scale = 1;  // for the table
  int digits = 1;
  bool real_time = false;  // differs from run to run
};
std::span<const Figure> Figures();

std::string TableText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs);
enum class Timing { kLeftOut, kShown };
std::string CsvText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                    Timing timing = Timing::kLeftOut);
// `base` describes what all points have in common.
std::string JsonText(const Experiment& base, const std::vector<GridPoint>& points,
                     const std::vector<GridRun>& runs, Timing timing = Timing::kLeftOut);

}  // namespace gopmill::sim
