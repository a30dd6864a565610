// SPDX-License-Identifier: Apache-2.0
//
// Policies side by side: each run once per round, rounds repeated, so that whatever else changes on
// the machine meets all of them alike. The order within a round is rotated by seed and round.
//
// Thread-safety: Compare runs alone in the process; the rest are plain values and pure functions.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/bench/measures.h"
#include "server/bench/run_record.h"
#include "server/bench/statistics.h"

namespace gopmill::bench {

inline constexpr int kMaxRepeats = 1000;

struct FinishedRun {
  RunRecord record;  // units are kept of the first repeat only
  RunMeasures measures;
};

struct Comparison {
  std::vector<std::string> policies;
  int repeats = 0;
  std::vector<FinishedRun> runs;  // in the order they ran
};

// Runs one policy once.
using RunPolicy = std::function<Result<RunRecord>(const std::string& policy)>;
// After each run: how many of how many are done.
using OnRun = std::function<void(const FinishedRun& run, int done, int all)>;

// Of what ratios are to: the one asked for, which must be among the policies; by default fifo where
// it runs, else the first.
Result<std::string> ChooseBaseline(const std::vector<std::string>& policies,
                                   const std::string& asked = "");

Result<Comparison> Compare(const std::vector<std::string>& policies, int repeats,
                           std::uint32_t seed, const RunPolicy& run, const OnRun& on_run);

// The policies of round `round`, in the order they run.
std::vector<std::string> RoundOrder(const std::vector<std::string>& policies, std::uint32_t seed,
                                    int round);

// Sentences about what must not be: outputs that differ between runs, naming stream and policies; a
// work-conserving policy that let units wait beside an idle worker, each time for more than 1 ms
// and in all for longer than other programs used our CPUs. Empty = all is well.
std::vector<std::string> Violations(const Comparison& comparison);

// Whether the policy promises never to let a unit wait while a worker it may run on is idle.
bool PromisesWorkConservation(std::string_view policy);

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
