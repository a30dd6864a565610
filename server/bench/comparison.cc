// SPDX-License-Identifier: Apache-2.0
#include "server/bench/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "scheduler/policy_registry.h"
#include "server/bench/round_order.h"

namespace gopmill::bench {
namespace {

std::string RunName(const RunRecord& record) {
  return fmt::format("{} (repeat {})", record.policy, record.repeat + 1);
}

void FindHashViolations(const Comparison& comparison, std::vector<std::string>& violations) {
  const RunRecord& first = comparison.runs.front().record;
  for (std::size_t i = 0; i < first.streams.size(); ++i) {
    for (const FinishedRun& run : comparison.runs) {
      const StreamSample& expected = first.streams[i];
      const StreamSample& stream = run.record.streams[i];
      if (stream.hash == expected.hash && stream.bytes == expected.bytes) continue;
      violations.push_back(fmt::format(
          "Stream {} ({}): the output of {} ({} bytes, {:016x}) differs from that of {} ({} bytes, "
          "{:016x}).",
          stream.id.value, stream.name, RunName(run.record), stream.bytes, stream.hash,
          RunName(first), expected.bytes, expected.hash));
      break;  // one sentence per stream
    }
  }
}

void FindIdleViolations(const Comparison& comparison, std::vector<std::string>& violations) {
  for (const FinishedRun& run : comparison.runs) {
    const std::string& policy = run.record.policy;
    if (!NothingWaitsBesideAnIdleWorker(policy, comparison.plan.rules)) continue;
    // A retry's first attempt is in no report: what it kept busy would look idle.
    if (run.record.counters.retries > 0 || run.measures.idle_waiting_events < 1) continue;
    // Other programs may keep our threads from their CPUs: that is no decision of the policy.
    // Nobody can be blamed where it is not known what they took.
    if (!IsMeasured(run.measures.others_ms)) continue;
    if (run.measures.idle_waiting_too_long_ms <= run.measures.others_ms) continue;
    violations.push_back(fmt::format(
        "{}: units waited although a worker was idle, {:.0f} times longer than 1 ms, the longest "
        "{:.2f} ms, {:.1f} ms in all; other programs took {:.0f} ms of CPU time.",
        RunName(run.record), run.measures.idle_waiting_events, run.measures.idle_waiting_longest_ms,
        run.measures.idle_waiting_too_long_ms, run.measures.others_ms));
  }
}

std::vector<const FinishedRun*> RunsOf(const Comparison& comparison, const std::string& policy) {
  std::vector<const FinishedRun*> runs;
  for (const FinishedRun& run : comparison.runs) {
    if (run.record.policy == policy) runs.push_back(&run);
  }
  std::ranges::sort(runs, {}, [](const FinishedRun* run) { return run->record.repeat; });
  return runs;
}

std::optional<Interval> IntervalOf(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !IsMeasured(value); });
  if (values.empty()) return std::nullopt;
  return MedianInterval(std::move(values));
}

void AddPaired(const std::vector<const FinishedRun*>& baseline,
               const std::vector<const FinishedRun*>& runs, double RunMeasures::*value,
               PolicySummary& summary) {
  std::vector<double> ratios, differences;
  for (std::size_t i = 0; i < runs.size() && i < baseline.size(); ++i) {
    const double base = baseline[i]->measures.*value, own = runs[i]->measures.*value;
    if (!IsMeasured(base) || !IsMeasured(own)) continue;
    differences.push_back(own - base);
    if (base > 0) ratios.push_back(own / base);
  }
  if (ratios.size() < differences.size()) ratios.clear();
  summary.ratios.push_back(IntervalOf(std::move(ratios)));
  summary.differences.push_back(IntervalOf(std::move(differences)));
}

void AddMeans(const std::vector<const FinishedRun*>& runs, PolicySummary& summary) {
  const auto count = static_cast<double>(runs.size());
  summary.cores = runs.front()->measures.cores;
  for (CoreMeasures& core : summary.cores) core = {.pu_os_index = core.pu_os_index};
  for (const FinishedRun* run : runs) {
    for (std::size_t i = 0; i < summary.cores.size(); ++i) {
      summary.cores[i].units += run->measures.cores[i].units;
      summary.cores[i].busy_s += run->measures.cores[i].busy_s / count;
      summary.cores[i].cpu_s += run->measures.cores[i].cpu_s / count;
      summary.cores[i].utilisation += run->measures.cores[i].utilisation / count;
    }
    for (std::size_t i = 0; i < kStages; ++i) {
      summary.stages_ms[i] += run->measures.stages_ms[i] / count;
    }
  }
  for (CoreMeasures& core : summary.cores) core.units /= static_cast<std::int64_t>(runs.size());
}

Result<FinishedRun> RunOnce(const std::string& policy, bool counted, const RunPolicy& run) {
  GOPMILL_ASSIGN_OR_RETURN(RunRecord record, run(policy, counted));
  FinishedRun finished{.record = std::move(record), .measures = {}};
  finished.measures = Measure(finished.record);
  return finished;
}

// Ends with the policy that the first round ends with, so that none follows itself.
Status WarmUp(const ComparisonPlan& plan, int all, const RunPolicy& run, const OnRun& on_run) {
  const std::vector<std::string> order = RoundOrder(plan.policies, plan.seed, 0);
  for (auto left = static_cast<std::size_t>(plan.warm_ups); left > 0; --left) {
    const std::string& policy = order[order.size() - 1 - (left - 1) % order.size()];
    GOPMILL_ASSIGN_OR_RETURN(const FinishedRun finished, RunOnce(policy, false, run));
    on_run(finished, 0, all);
  }
  return OkStatus();
}

}  // namespace

Result<std::string> ChooseBaseline(const std::vector<std::string>& policies,
                                   const std::string& asked) {
  const std::string& wanted = asked.empty() ? "fifo" : asked;
  if (std::ranges::find(policies, wanted) != policies.end()) return wanted;
  if (asked.empty()) return policies.front();
  return InvalidArgument("baseline", "The policy '" + asked + "' is not among those that run.",
                         fmt::format("{}", fmt::join(policies, ", ")));
}

Result<Comparison> Compare(const ComparisonPlan& plan, const RunPolicy& run, const OnRun& on_run) {
  Comparison comparison{.plan = plan, .runs = {}};
  const int all = plan.repeats * static_cast<int>(plan.policies.size());
  GOPMILL_RETURN_IF_ERROR(WarmUp(plan, all, run, on_run));
  for (int round = 0; round < plan.repeats; ++round) {
    for (const std::string& policy : RoundOrder(plan.policies, plan.seed, round)) {
      GOPMILL_ASSIGN_OR_RETURN(FinishedRun finished, RunOnce(policy, true, run));
      finished.record.repeat = round;
      if (round > 0) finished.record.units = {};
      comparison.runs.push_back(std::move(finished));
      on_run(comparison.runs.back(), static_cast<int>(comparison.runs.size()), all);
    }
  }
  return comparison;
}

std::vector<std::string> Violations(const Comparison& comparison) {
  std::vector<std::string> violations;
  if (comparison.runs.empty()) return violations;
  FindHashViolations(comparison, violations);
  FindIdleViolations(comparison, violations);
  return violations;
}

std::vector<PolicySummary> Summarise(const Comparison& comparison, const std::string& baseline) {
  std::vector<PolicySummary> summaries;
  const auto base = RunsOf(comparison, baseline);
  for (const std::string& policy : comparison.plan.policies) {
    const auto runs = RunsOf(comparison, policy);
    if (runs.empty()) continue;
    PolicySummary summary;
    summary.policy = policy;
    for (const MeasureDoc& doc : MeasureDocs()) {
      std::vector<double> values;
      for (const FinishedRun* run : runs) values.push_back(run->measures.*doc.value);
      summary.measures.push_back(IntervalOf(std::move(values)));
      AddPaired(base, runs, doc.value, summary);
    }
    for (std::size_t c = 0; c < runs.front()->measures.class_shares.size(); ++c) {
      std::vector<double> shares;
      for (const FinishedRun* run : runs) shares.push_back(run->measures.class_shares[c]);
      summary.class_shares.push_back(IntervalOf(std::move(shares)));
    }
    AddMeans(runs, summary);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace gopmill::bench
