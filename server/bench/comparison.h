// SPDX-License-Identifier: Apache-2.0
//
// Policies side by side: each run once per round, rounds repeated, so that whatever else changes on
// the machine meets all of them alike (order: round_order.h). Runs to warm up come before the first
// round and are counted nowhere: they meet cold file caches, a fresh heap and a clock at rest.
//
// Thread-safety: Compare runs alone in the process; the rest are plain values and pure functions.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/policy_options.h"
#include "server/bench/measures.h"
#include "server/bench/run_record.h"
#include "server/bench/statistics.h"

namespace gopmill::bench {

inline constexpr int kMaxRepeats = 1000;
inline constexpr int kMaxWarmUps = 100;
inline constexpr int kMaxRunQueue = 1'000'000;  // units

struct FinishedRun {
  RunRecord record;  // units are kept of the first repeat only
  RunMeasures measures;
};

struct ComparisonPlan {
  std::vector<std::string> policies;
  PolicyOptions rules = {};  // that all of them run with
  int repeats = 1;
  int warm_ups = 0;  // runs
  std::uint32_t seed = 0;
};

struct Comparison {
  ComparisonPlan plan;
  std::vector<FinishedRun> runs;  // that count, in the order they ran
};

// Runs one policy once; `counted` is false for a run to warm up.
using RunPolicy = std::function<Result<RunRecord>(const std::string& policy, bool counted)>;
// After each run: how many of how many are done; 0 for a run to warm up.
using OnRun = std::function<void(const FinishedRun& run, int done, int all)>;

// Of what ratios are to: the one asked for, which must be among the policies; by default fifo where
// it runs, else the first.
Result<std::string> ChooseBaseline(const std::vector<std::string>& policies,
                                   const std::string& asked = "");

Result<Comparison> Compare(const ComparisonPlan& plan, const RunPolicy& run, const OnRun& on_run);

// Sentences about what must not be: outputs that differ between runs, naming stream and policies; a
// work-conserving policy that let units wait beside an idle worker, each time for more than 1 ms
// and in all for longer than other programs used our CPUs. Empty = all is well.
std::vector<std::string> Violations(const Comparison& comparison);

// One policy over all repeats.
struct PolicySummary {
  std::string policy;
  // One per MeasureDocs(), over the runs that tell it; none where no run does.
  std::vector<std::optional<Interval>> measures;
  // Through and less the baseline's of the same round, over the rounds in which both runs tell the
  // measure. No ratio where the baseline's is 0 in one of these: those that are left would be the
  // rounds in which the baseline did worse.
  std::vector<std::optional<Interval>> ratios, differences;
  std::vector<CoreMeasures> cores;                    // means, units rounded down
  std::array<double, kStages> stages_ms{};            // means
  std::vector<std::optional<Interval>> class_shares;  // by class, empty without classes
};

// `baseline`: one of the policies.
std::vector<PolicySummary> Summarise(const Comparison& comparison, const std::string& baseline);

}  // namespace gopmill::bench
