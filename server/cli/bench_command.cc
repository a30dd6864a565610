// SPDX-License-Identifier: Apache-2.0
//
// gopmill bench: everything asked for is checked first, then measured, then written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <stop_token>
#include <utility>

#include "base/log.h"
#include "config/ratio_file.h"
#include "scheduler/cgroup_quota.h"
#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "scheduler/scheduler.h"
#include "scheduler/topology_hwloc.h"
#include "scheduler/worker_layout.h"
#include "server/bench/policy_list.h"
#include "server/bench/replay.h"
#include "server/bench/report.h"
#include "server/bench/stream_run.h"
#include "server/bench/trace_events.h"
#include "server/bench/trace_recorder.h"
#include "server/bench/workload.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"

namespace gopmill::cli {
namespace {

constexpr int kStandardRepeats = 5, kQuickRepeats = 2, kQuickStreams = 6, kStandardWarmUps = 1;

// All that is asked for, checked.
struct Plan {
  bench::ComparisonPlan comparison;
  bench::StreamRunOptions options;
  std::vector<bench::BenchStream> streams;  // empty for a replay
  std::vector<bench::ReplayUnit> units;     // of a replay
  bench::ReportHead head;
};

Status CheckOutputs(const BenchArgs& args) {
  const ReportFile files[] = {{"json", args.json},
                              {"html", args.html},
                              {"perfetto", args.perfetto},
                              {"record", args.record}};
  for (const auto& [parameter, file] : std::span(files).subspan(1)) {
    if (file == "-") return InvalidArgument(parameter, "Only --json goes to stdout.", "a file");
  }
  return CheckReports(files, {args.trace});
}

Status PlanReplay(const BenchArgs& args, Plan& plan) {
  GOPMILL_ASSIGN_OR_RETURN(const RecordedTrace trace, ReadTraceFile(args.trace));
  GOPMILL_ASSIGN_OR_RETURN(plan.units, bench::ReplayUnits(trace, plan.options.classes));
  if (plan.units.empty()) {
    return InvalidArgument("trace", "The trace " + args.trace + " has no units.",
                           "a trace with one at least");
  }
  std::vector<std::uint64_t> streams;
  for (const TraceUnit& unit : trace.units) streams.push_back(unit.stream);
  std::sort(streams.begin(), streams.end());
  streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
  plan.head.workload = "replay of " + args.trace;
  plan.head.unit = trace.header.unit;
  plan.head.streams = static_cast<int>(streams.size());
  return OkStatus();
}

Status PlanStreams(const BenchArgs& args, Plan& plan) {
  GOPMILL_ASSIGN_OR_RETURN(const bench::Mix* mix, bench::FindMix(args.mix));
  const int standard = args.quick ? kQuickStreams : mix->default_streams;
  const int count = args.streams > 0 ? args.streams : standard;
  plan.options.duration = !args.duration.empty() ? args.duration : args.quick ? "3" : "20";
  plan.options.unit = args.unit;
  plan.options.preset = args.preset;
  plan.options.crf = args.crf;
  plan.options.audio = args.audio;
  plan.streams = mix->make(count, args.movies, static_cast<std::uint32_t>(args.seed));
  for (std::size_t i = 0; i < plan.streams.size(); ++i) {
    const auto request = bench::RequestOf(plan.streams[i], i, plan.options);
    if (!request.ok()) return request.error();
  }
  plan.head.workload = args.mix;
  plan.head.unit = args.unit;
  plan.head.duration = plan.options.duration;
  plan.head.preset = args.preset;
  plan.head.crf = args.crf;
  plan.head.streams = count;
  return bench::CheckMovies(plan.streams);
}

// Rules and classes, for the workers that there will be: nothing is measured with wrong ones.
Status PlanScheduling(const BenchArgs& args, const Topology& topology, Plan& plan) {
  plan.options.workers = args.workers;
  plan.options.run_queue_units = plan.head.run_queue_units = args.queue;
  const int workers =
      args.workers > 0 ? args.workers : DefaultWorkerCount(topology, CgroupCpuQuota(CgroupPaths{}));
  GOPMILL_ASSIGN_OR_RETURN(plan.options.rules, WithRatioFiles(args.scheduler_options));
  GOPMILL_RETURN_IF_ERROR(ParsePolicyOptions(plan.options.rules, workers, plan.comparison.rules));
  GOPMILL_RETURN_IF_ERROR(CheckOptionsAreRead(plan.options.rules, plan.comparison.policies));
  if (args.classes.empty()) return OkStatus();
  GOPMILL_ASSIGN_OR_RETURN(plan.options.classes, ParseClasses(args.classes));
  return CheckGuarantees(plan.options.classes, workers);
}

// A policy that cannot serve this is an error before anything is measured if it was asked for by
// name, and left out with a word if all were and others can.
Status CheckPolicies(bool all, const Topology& topology, Plan& plan) {
  SchedulerOptions scheduling{.workers = plan.options.workers};
  scheduling.policy_options.classes = plan.options.classes;
  scheduling.rules = plan.options.rules;
  std::vector<std::string> able;
  std::string left_out;
  for (const std::string& policy : plan.comparison.policies) {
    scheduling.policy = policy;
    const auto home = HomeOf(StreamId{1}, scheduling, topology);  // makes the policy for that
    if (home.ok()) {
      able.push_back(policy);
      continue;
    }
    const bool last = policy == plan.comparison.policies.back();
    if (!all || (last && able.empty())) return home.error().With(policy);
    left_out += fmt::format("{} cannot serve this: {}\n", policy, home.error().message);
  }
  WriteStderr(left_out);
  plan.comparison.policies = std::move(able);
  return OkStatus();
}

Result<Plan> MakePlan(const BenchArgs& args) {
  Plan plan;
  bench::ComparisonPlan& comparison = plan.comparison;
  GOPMILL_ASSIGN_OR_RETURN(comparison.policies, ParsePolicyNames(args.schedulers));
  GOPMILL_ASSIGN_OR_RETURN(const Topology topology, DiscoverTopology({}));
  GOPMILL_RETURN_IF_ERROR(PlanScheduling(args, topology, plan));
  GOPMILL_RETURN_IF_ERROR(CheckPolicies(args.schedulers == "all", topology, plan));
  GOPMILL_ASSIGN_OR_RETURN(plan.head.baseline,
                           bench::ChooseBaseline(comparison.policies, args.baseline));
  GOPMILL_RETURN_IF_ERROR(CheckOutputs(args));
  const int standard = args.quick ? kQuickRepeats : kStandardRepeats;
  comparison.repeats = args.repeats > 0 ? args.repeats : standard;
  // A replay has no files to read, and may take a day.
  comparison.warm_ups = args.warm_ups.value_or(args.trace.empty() ? kStandardWarmUps : 0);
  comparison.seed = static_cast<std::uint32_t>(args.seed);
  GOPMILL_RETURN_IF_ERROR(args.trace.empty() ? PlanStreams(args, plan) : PlanReplay(args, plan));
  plan.head.machine = bench::DescribeMachine();
  plan.head.command.emplace_back("gopmill");
  for (const std::string& argument : args.line) plan.head.command.push_back(argument);
  plan.head.seed = static_cast<std::uint32_t>(args.seed);
  plan.head.cache_obstacle = bench::CacheCounters().obstacle();
  return plan;
}

void PrintRun(const bench::FinishedRun& run, int done, int all) {
  const std::string what =
      done == 0 ? "to warm up" : fmt::format("repeat {}", run.record.repeat + 1);
  WriteStderr(fmt::format("{}/{}  {:<12} {}: {} GOPs in {:.2f} s, {:.1f} GOPs/s\n", done, all,
                          run.record.policy, what, run.measures.gops, run.measures.wall_s,
                          run.measures.gops_per_s));
}

Result<std::shared_ptr<bench::TraceRecorder>> StartRecording(const BenchArgs& args,
                                                             const Plan& plan) {
  const bench::Machine& machine = plan.head.machine;
  const TraceHeader header{.machine = fmt::format("{}, {} CPUs", machine.cpu, machine.cpus),
                           .unit = plan.head.unit};
  return bench::TraceRecorder::Create(args.record, header, plan.options.classes);
}

Result<bench::Comparison> Run(const BenchArgs& args, Plan& plan, const std::stop_token& stop) {
  bool to_record = !args.record.empty();
  const bench::RunPolicy run = [&](const std::string& policy,
                                   bool counted) -> Result<bench::RunRecord> {
    if (!plan.units.empty()) {
      return bench::RunReplay({.policy = policy,
                               .workers = args.workers,
                               .run_queue_units = args.queue,
                               .rules = plan.options.rules,
                               .classes = plan.options.classes},
                              plan.units, stop);
    }
    plan.options.policy = policy;
    // The first run that counts is the recorded one; the clock of the trace starts with it.
    std::shared_ptr<bench::TraceRecorder> recorder;
    if (counted && std::exchange(to_record, false)) {
      GOPMILL_ASSIGN_OR_RETURN(recorder, StartRecording(args, plan));
    }
    plan.options.recorder = recorder;
    auto record = bench::RunStreams(plan.options, plan.streams, stop);
    if (recorder) GOPMILL_RETURN_IF_ERROR(recorder->Close());
    return record;
  };
  return bench::Compare(plan.comparison, run, PrintRun);
}

// The first repeat of each policy.
std::string PerfettoOf(const bench::Comparison& comparison) {
  std::vector<const bench::RunRecord*> runs;
  for (const bench::FinishedRun& run : comparison.runs) {
    if (run.record.repeat == 0) runs.push_back(&run.record);
  }
  return bench::TraceEventsJson(runs);
}

// All that can be written, whatever becomes of the others; the first error.
Status WriteAll(const BenchArgs& args, const bench::Report& report) {
  FirstError written;
  if (!args.json.empty()) written.Add(WriteReport(args.json, bench::ReportJson(report)));
  if (!args.html.empty()) written.Add(WriteReport(args.html, bench::ReportHtml(report)));
  if (!args.perfetto.empty()) {
    written.Add(WriteReport(args.perfetto, PerfettoOf(report.comparison)));
  }
  const std::string text = bench::ReportText(report);
  if (args.json == "-") {
    WriteStderr(text);
  } else {
    written.Add(WriteStdout(text));
  }
  return written.status();
}

int Bench(const BenchArgs& args, const std::stop_token& stop) {
  auto plan = MakePlan(args);
  if (!plan.ok()) return Fail("bench", plan.error());
  auto comparison = Run(args, *plan, stop);
  if (!comparison.ok()) return Fail("bench", comparison.error());
  bench::Report report{.head = std::move(plan->head),
                       .comparison = std::move(*comparison),
                       .summaries = {},
                       .violations = {}};
  report.summaries = bench::Summarise(report.comparison, report.head.baseline);
  report.violations = bench::Violations(report.comparison);
  const Status written = WriteAll(args, report);
  if (!written.ok()) return Fail("bench", written.error());
  return report.violations.empty() ? kOk : kFailed;
}

}  // namespace

int RunBench(const BenchArgs& args) {
  if (args.list) return Answer("bench", bench::ListText());
  std::stop_source stop;
  auto signals = StopOnSignals(stop);
  if (!signals.ok()) return Fail("bench", signals.error());
  if (const Status log = InitLogging("error", LogFormat::kText); !log.ok()) {
    return Fail("bench", log.error());
  }
  return Bench(args, stop.get_token());
}

}  // namespace gopmill::cli
