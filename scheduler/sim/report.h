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
  std::string_view meaning;  // in one line
  std::string_view heading;  // of the table; empty = not in it
  double SimResult::*value = nullptr;
  double scale = 1;  // for the table
  int digits = 1;
  bool real_time = false;  // differs from run to run
};
std::span<const Figure> Figures();
enum class Timing { kLeftOut, kShown };
bool IsShown(const Figure& figure, Timing timing);
// What is not measured is "-" in the table, nothing in CSV and null in JSON.
bool IsMeasured(const Figure& figure, const SimResult& result);

// Points that differ by their seed alone are one table of means (seed_table.h).
std::string TableText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs);
std::string CsvText(const std::vector<GridPoint>& points, const std::vector<GridRun>& runs,
                    Timing timing = Timing::kLeftOut);

// What a file says of how it came about.
struct ReportOrigin {
  std::string version;         // of the program
  std::string command;         // without the names of the files it wrote
  std::string check, against;  // the two policies of a check, or empty
  bool interrupted = false;    // before all points that the command means were run
};
// Every parameter that the workload looks at is there once: with what all points have in common, or
// with the point of a run. Defaults are said out ("one per PU"), not left 0. "fields" says what the
// figures are; runs that differ by their seed alone are also summed up in "means".
std::string JsonText(const ReportOrigin& origin, const std::vector<GridPoint>& points,
                     const std::vector<GridRun>& runs, Timing timing = Timing::kLeftOut);

}  // namespace gopmill::sim
