// SPDX-License-Identifier: Apache-2.0
//
// A comparison for people and for programs: aligned tables for a terminal, JSON, one HTML page.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "server/bench/comparison.h"
#include "server/bench/machine.h"

namespace gopmill::bench {

// What was asked for, as it goes into the reports.
struct ReportHead {
  Machine machine;
  std::vector<std::string> command;  // the whole command line
  std::string workload;              // name of the mix, or "replay of FILE"
  std::string unit;
  std::string duration;  // seconds of each movie
  std::string preset;
  int streams = 0;
  std::uint32_t seed = 0;
  std::string cache_obstacle;  // why no cache misses were counted; empty if they were
};

struct Report {
  ReportHead head;
  Comparison comparison;
  std::vector<PolicySummary> summaries;
  std::vector<std::string> violations;
};

// The tables, a legend and the violations.
std::string ReportText(const Report& report);
std::string ReportJson(const Report& report);
// Self-contained: no other file, no network.
std::string ReportHtml(const Report& report);

// The text between the tags of an HTML page.
std::string EscapeHtml(std::string_view text);

}  // namespace gopmill::bench
