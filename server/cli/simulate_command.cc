// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/dump_json.h"
#include "config/ratio_file.h"
#include "scheduler/policy_registry.h"
#include "scheduler/sim/check.h"
#include "scheduler/sim/report.h"
#include "scheduler/sim/reproduction.h"
#include "scheduler/sim/scale.h"
#include "scheduler/sim/transcode_workload.h"
#include "scheduler/sim/validation.h"
#include "server/bench/policy_list.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"
#include "server/stream/build_identity.h"

namespace gopmill::cli {
namespace {

std::string ListText() {
  std::string text = bench::PolicyListText() + "\ntopologies:\n";
  for (const sim::TopologyPreset& preset : sim::TopologyPresets()) {
    text +=
        fmt::format("  {:<14} {} (\"{}\")\n", preset.name, preset.description, preset.synthetic);
  }
  text += "  chiplet:N      N PUs in L3 groups of 8, up to 16 groups per package\n";
  text += "  pu:N           N alike PUs\n";
  text += "\nmixes of the workload transcode (l7: tu, mit, nyp):\n";
  for (const sim::Mix& mix : sim::Mixes()) {
    text += fmt::format("  {:<14} {}\n", mix.name, mix.description);
  }
  text += "\nclaims for --reproduce:\n";
  for (const sim::Claim& claim : sim::Claims()) {
    text += fmt::format("  {:<18} {}\n", claim.name, claim.description);
  }
  return text;
}

// A trace is a workload; another one beside it would leave one of the two unread.
Status AddTrace(const std::string& file, sim::Experiment& experiment) {
  if (sim::IsGiven(experiment, "workload") && experiment.workload != "trace") {
    return InvalidArgument("trace", "The workload " + experiment.workload + " does not read it.",
                           "--trace FILE alone, or with --workload trace");
  }
  GOPMILL_ASSIGN_OR_RETURN(RecordedTrace trace, ReadTraceFile(file));
  experiment.trace = std::make_shared<const RecordedTrace>(std::move(trace));
  experiment.trace_file = file;
  experiment.workload = "trace";
  return OkStatus();
}

Result<sim::Experiment> ToExperiment(const SimulateArgs& args) {
  sim::Experiment experiment;
  experiment.seed = args.seed.value_or(experiment.seed);
  for (const auto& [name, value] : args.params) {
    GOPMILL_RETURN_IF_ERROR(sim::SetParam(experiment, name, value));
  }
  GOPMILL_ASSIGN_OR_RETURN(experiment.rules, WithRatioFiles(experiment.rules));
  if (!args.trace.empty()) GOPMILL_RETURN_IF_ERROR(AddTrace(args.trace, experiment));
  return experiment;
}

// --check and --scale set these themselves.
Status CheckOwnGrid(const char* study, const sim::Experiment& base,
                    std::initializer_list<const char*> own) {
  if (base.workload != "transcode") {
    return InvalidArgument(study, "Its grid is one of the workload transcode.",
                           "--check NAME --sweep AXIS for other workloads");
  }
  for (const char* name : own) {
    if (!sim::IsGiven(base, name)) continue;
    return InvalidArgument(name, fmt::format("The grid of --{} sets it.", study),
                           "--check NAME --sweep AXIS for another grid");
  }
  return OkStatus();
}

void ShowProgress(std::size_t done, std::size_t total) {
  if (isatty(STDERR_FILENO) == 0) return;
  WriteStderr(fmt::format("\r{} of {} runs{}", done, total, done == total ? "\r\x1b[K" : ""));
}

int Threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

bool SweepsSeed(const SimulateArgs& args) {
  return std::ranges::any_of(args.sweeps,
                             [](const std::string& sweep) { return sweep.starts_with("seed="); });
}

// Runs of a check at each point.
int SeedsOf(const SimulateArgs& args) { return args.seeds.value_or(5); }

Status CheckSeedIsRead(const SimulateArgs& args, const std::vector<sim::GridPoint>& points) {
  if (!args.seed && !args.seeds && !SweepsSeed(args)) return OkStatus();
  const auto draws = [](const sim::GridPoint& p) { return sim::DrawsNumbers(p.experiment); };
  if (std::ranges::any_of(points, draws)) return OkStatus();
  return InvalidArgument(args.seeds ? "seeds" : "seed", "Nothing of this trace is drawn.",
                         "with --noise, or with --arrivals that are drawn");
}

struct Study {
  sim::Experiment base;
  std::vector<sim::GridPoint> points;
  std::vector<sim::GridRun> runs;
  bool interrupted = false;
};

Result<std::vector<sim::GridPoint>> GridOf(const sim::Experiment& base,
                                           const std::vector<std::string>& sweeps) {
  std::vector<sim::SweepAxis> axes;
  for (const std::string& sweep : sweeps) {
    GOPMILL_ASSIGN_OR_RETURN(axes.emplace_back(), sim::ParseSweep(sweep));
  }
  GOPMILL_ASSIGN_OR_RETURN(std::vector<sim::GridPoint> points, sim::MakeGrid(base, axes));
  // Only now: reports tell points apart by the names of the files.
  for (sim::GridPoint& point : points) {
    GOPMILL_ASSIGN_OR_RETURN(point.experiment.rules, WithRatioFiles(point.experiment.rules));
  }
  return points;
}

Error Interrupted() { return {.code = Code::kCancelled, .message = "Interrupted."}; }

// Runs the grid of the study; when stopped, only the points that are complete stay in it, and it is
// an error if there are none.
Status RunPoints(Study& study, const std::vector<std::string>& policies,
                 const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(study.runs,
                           sim::RunGrid(study.points, policies, Threads(), ShowProgress, stop));
  study.interrupted = stop.stop_requested();
  if (!study.interrupted) return OkStatus();
  if (isatty(STDERR_FILENO) != 0) WriteStderr("\n");
  sim::KeepComplete(study.points, study.runs);
  return study.points.empty() ? Status(Interrupted()) : OkStatus();
}

Result<Study> RunStudy(const SimulateArgs& args, const std::stop_token& stop) {
  Study study;
  GOPMILL_ASSIGN_OR_RETURN(study.base, ToExperiment(args));
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<std::string> policies,
                           ParsePolicyNames(args.scheduler.value_or("all")));
  GOPMILL_ASSIGN_OR_RETURN(study.points, GridOf(study.base, args.sweeps));
  GOPMILL_RETURN_IF_ERROR(CheckSeedIsRead(args, study.points));
  GOPMILL_RETURN_IF_ERROR(RunPoints(study, policies, stop));
  return study;
}

// The same for --check: two policies, and the grid of the check unless sweeps make another.
Result<Study> RunCheckStudy(const SimulateArgs& args, const std::stop_token& stop) {
  Study study;
  GOPMILL_ASSIGN_OR_RETURN(study.base, ToExperiment(args));
  if (study.base.mix.empty() && study.base.workload == "transcode") study.base.mix = "mixed";
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<std::string> policies,
                           ParsePolicyNames(args.check + "," + args.against));
  if (args.sweeps.empty()) {
    GOPMILL_RETURN_IF_ERROR(
        CheckOwnGrid("check", study.base,
                     {"topology", "streams", "gops", "spread", "contexts", "arrivals", "load"}));
    study.points = sim::CheckGrid(study.base);
  } else {
    GOPMILL_ASSIGN_OR_RETURN(study.points, GridOf(study.base, args.sweeps));
  }
  if (!SweepsSeed(args)) {
    study.points =
        sim::WithSeeds(study.points, sim::kFirstHeldOutSeed + study.base.seed, SeedsOf(args));
  }
  GOPMILL_RETURN_IF_ERROR(CheckSeedIsRead(args, study.points));
  GOPMILL_RETURN_IF_ERROR(RunPoints(study, policies, stop));
  return study;
}

sim::Timing TimingOf(const SimulateArgs& args) {
  return args.timing ? sim::Timing::kShown : sim::Timing::kLeftOut;
}

// The command without what it writes to, so that equal runs give equal files.
std::string CommandText(const SimulateArgs& args) {
  std::string text = "gopmill simulate";
  const auto add = [&text](std::string_view name, const std::string& value) {
    const bool quoted = value.find_first_of(" |;&<>()$*?'\"") != std::string::npos;
    const char* const mark = quoted ? "'" : "";
    text += fmt::format(" --{} {}{}{}", name, mark, value, mark);
  };
  for (const auto& [name, value] : args.params) add(name, value);
  if (!args.trace.empty()) add("trace", args.trace);
  for (const std::string& sweep : args.sweeps) add("sweep", sweep);
  if (args.check.empty()) {
    add("scheduler", args.scheduler.value_or("all"));
  } else {
    add("check", args.check);
    add("against", args.against);
    if (!SweepsSeed(args)) add("seeds", fmt::format("{}", SeedsOf(args)));
  }
  if (!SweepsSeed(args)) add("seed", fmt::format("{}", args.seed.value_or(1)));
  if (args.timing) text += " --timing";
  return text;
}

sim::ReportOrigin OriginOf(const SimulateArgs& args) {
  sim::ReportOrigin origin{
      .version = BuildVersion(), .command = CommandText(args), .check = args.check, .against = {}};
  if (!args.check.empty()) origin.against = args.against;
  return origin;
}

Status WriteResults(const SimulateArgs& args, const Study& study) {
  FirstError written;
  if (!args.csv.empty()) {
    std::string csv = sim::CsvText(study.points, study.runs, TimingOf(args));
    csv.pop_back();
    written.Add(WriteReport(args.csv, csv));
  }
  if (!args.json.empty()) {
    sim::ReportOrigin origin = OriginOf(args);
    origin.interrupted = study.interrupted;
    written.Add(
        WriteReport(args.json, sim::JsonText(origin, study.points, study.runs, TimingOf(args))));
  }
  if (args.json != "-" && args.csv != "-") {
    written.Add(WriteStdout(args.check.empty()
                                ? sim::TableText(study.points, study.runs)
                                : sim::SummariseCheck(study.points, study.runs, {}).text));
  }
  return written.status();
}

int RunValidation() {
  const auto rows = sim::Validate();
  if (!rows.ok()) {
    PrintError("simulate", "", rows.error());
    return kFailed;
  }
  const int written = Answer("simulate", sim::ValidationText(*rows));
  return std::ranges::all_of(*rows, &sim::ValidationRow::passed) ? written : kFailed;
}

Status PrintClaims(const std::string& wanted) {
  bool found = false;
  for (const sim::Claim& claim : sim::Claims()) {
    if (wanted != "all" && wanted != claim.name) continue;
    found = true;
    GOPMILL_ASSIGN_OR_RETURN(const std::vector<sim::ClaimRow> rows, claim.run());
    GOPMILL_RETURN_IF_ERROR(WriteStdout(sim::ClaimText(claim, rows)));
  }
  if (found) return OkStatus();
  return sim::Reproduce(wanted).error();
}

int RunReproduction(const std::string& wanted) {
  const Status status = PrintClaims(wanted);
  if (status.ok()) return kOk;
  return Fail("simulate", status.error());
}

bool AnyRan(const std::vector<sim::GridRun>& runs) {
  return std::ranges::any_of(runs, [](const auto& run) { return run.result.has_value(); });
}

bool NamesPolicies(const SimulateArgs& args) {
  return args.check.empty() && args.scheduler && args.scheduler != "all";
}

// A policy asked for by name has to be able to do it, at all points. Of all policies, or those of a
// check, one is enough: the table tells for each run why not.
Status CouldRun(const SimulateArgs& args, const std::vector<sim::GridRun>& runs) {
  const auto failed = std::ranges::find_if(runs, [](const auto& run) { return !run.result; });
  if (failed == runs.end()) return OkStatus();
  if (NamesPolicies(args)) return failed->error.With(failed->policy);
  return AnyRan(runs) ? OkStatus() : Status(failed->error);
}

Status WriteScale(const SimulateArgs& args, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(const sim::Experiment base, ToExperiment(args));
  GOPMILL_RETURN_IF_ERROR(CheckOwnGrid(
      "scale", base, {"topology", "streams", "gops", "arrivals", "classes", "share-window-ms"}));
  std::vector<std::string> policies = sim::ScalePolicies();
  if (args.scheduler) {
    GOPMILL_ASSIGN_OR_RETURN(policies, ParsePolicyNames(*args.scheduler));
  }
  const std::filesystem::path folder(args.scale);
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) {
    return InvalidArgument("scale", args.scale + " is no folder.", "a folder that exists");
  }
  Study study{.base = base, .points = sim::ScaleGrid(base), .runs = {}, .interrupted = false};
  GOPMILL_RETURN_IF_ERROR(RunPoints(study, policies, stop));
  const auto& points = study.points;
  const auto& runs = study.runs;
  std::string csv = sim::CsvText(points, runs, TimingOf(args));
  csv.pop_back();
  FirstError written;
  written.Add(WriteReport((folder / "scale.csv").string(), csv));
  for (const auto& [name, svg] : sim::ScaleCharts(points, runs, policies, TimingOf(args))) {
    written.Add(WriteReport((folder / name).string(), svg));
  }
  written.Add(WriteStdout(sim::TableText(points, runs)));
  GOPMILL_RETURN_IF_ERROR(written.status());
  return study.interrupted ? Status(Interrupted()) : CouldRun(args, runs);
}

int RunScale(const SimulateArgs& args, const std::stop_token& stop) {
  const Status status = WriteScale(args, stop);
  if (status.ok()) return kOk;
  return Fail("simulate", status.error());
}

Status CheckSimulateOutputs(const SimulateArgs& args) {
  if (args.json == "-" && args.csv == "-") {
    return InvalidArgument("json", "--json and --csv cannot both be stdout.", "a file for one");
  }
  std::vector<std::string> read{args.trace};
  for (const auto& [name, value] : args.params) read.push_back(value);  // a topology may be a file
  const ReportFile files[] = {{"json", args.json}, {"csv", args.csv}};
  return CheckReports(files, std::move(read));
}

// What a study would not look at is refused rather than ignored.
Status CheckStudyOptions(const SimulateArgs& args) {
  const bool fixed = args.list || args.validate || !args.reproduce.empty();
  const bool outputs = !args.json.empty() || !args.csv.empty();
  const bool asked = !args.params.empty() || !args.trace.empty() || args.scheduler || args.seed;
  if (fixed && (asked || outputs || args.timing || !args.sweeps.empty())) {
    return InvalidArgument("simulate",
                           "--list, --validate and --reproduce have experiments of their own.",
                           "them alone");
  }
  if (!args.check.empty() && args.scheduler) {
    return InvalidArgument("scheduler", "--check and --against name the policies.",
                           "without --scheduler");
  }
  if (SweepsSeed(args) && args.seed) {
    return InvalidArgument("seed", "It is given and swept.", "one of the two");
  }
  if (SweepsSeed(args) && args.seeds) {
    return InvalidArgument("seeds", "The sweep says which seeds there are.", "one of the two");
  }
  if (!args.scale.empty() && (outputs || !args.sweeps.empty())) {
    return InvalidArgument("scale", "--scale has a grid and files of its own.",
                           "without --sweep, --json and --csv");
  }
  if (args.timing && !outputs && args.scale.empty()) {
    return InvalidArgument("timing", "There is no file for it; the table has the time anyway.",
                           "with --json, --csv or --scale");
  }
  return CheckSimulateOutputs(args);
}

int RunExperiment(const SimulateArgs& args, const std::stop_token& stop) {
  const Result<Study> study = args.check.empty() ? RunStudy(args, stop) : RunCheckStudy(args, stop);
  if (!study.ok()) {
    return Fail("simulate", study.error());
  }
  const Status ran = CouldRun(args, study->runs);
  // A file of an earlier run is worth more than one without a result.
  if (!ran.ok() && NamesPolicies(args) && !AnyRan(study->runs))
    return Fail("simulate", ran.error());
  const Status written = WriteResults(args, *study);
  if (!written.ok()) {
    PrintError("simulate", "", written.error());
    return kFailed;
  }
  if (study->interrupted) return Fail("simulate", Interrupted());
  return ran.ok() ? kOk : Fail("simulate", ran.error());
}

}  // namespace

int RunSimulate(const SimulateArgs& args) {
  if (const Status fits = CheckStudyOptions(args); !fits.ok()) {
    PrintError("simulate", "", fits.error());
    return kUsage;
  }
  if (args.list) return Answer("simulate", ListText());
  const std::stop_source stop;
  const auto signals = StopOnSignals(stop);
  if (!signals.ok()) return Fail("simulate", signals.error());
  if (!args.scale.empty()) return RunScale(args, stop.get_token());
  if (args.validate || !args.reproduce.empty()) {
    // What they have come to is printed already.
    const std::stop_callback at_once(stop.get_token(),
                                     [] { _exit(Fail("simulate", Interrupted())); });
    return args.validate ? RunValidation() : RunReproduction(args.reproduce);
  }
  return RunExperiment(args, stop.get_token());
}

}  // namespace gopmill::cli
