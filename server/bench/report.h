// SPDX-License-Identifier: Apache-2.0
//
// A comparison for people and for programs: aligned tables for a terminal, JSON, one HTML page.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "server/bench/comparison.h"
#include "server/bench/machine.h"

namespace gopmill::bench {

// The measures whose ratios to the baseline are shown, and those that can be 0, of which the
// differences are; the JSON has both of all.
inline constexpr std::array<std::string_view, 5> kComparedRatios = {
    "gops_per_s", "core_ms_per_gop", "latency_p50_ms", "latency_p99_ms", "out_p99_ms"};
inline constexpr std::array<std::string_view, 4> kComparedDifferences = {
    "reordered", "deadline_misses", "disruption", "cold"};

// What was asked for, as it goes into the reports.
struct ReportHead {
  Machine machine;
  std::vector<std::string> command;  // the whole command line
  std::string workload;              // name of the mix, or "replay of FILE"
  std::string unit;
  std::string duration;  // seconds of each movie
  std::string preset;
  std::string crf;
  std::string baseline;  // policy that ratios are to
  int streams = 0;
  int run_queue_units = 2;  // 0 = without bound
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
