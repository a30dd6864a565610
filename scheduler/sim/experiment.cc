// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "scheduler/sim/arrivals.h"
#include "scheduler/sim/l7_workload.h"
#include "scheduler/sim/trace_workload.h"
#include "scheduler/sim/transcode_workload.h"

namespace gopmill::sim {
namespace {

struct Setter {
  ExperimentParam doc;
  std::string Experiment::*text = nullptr;
  int Experiment::*whole = nullptr;
  double Experiment::*real = nullptr;
  double low = 0;
  double high = 0;
};

constexpr std::array kSetters = {
    Setter{{"topology", "Machine",
            "a name that --list prints, chiplet:N, pu:N, hwloc notation, x.xml"},
           &Experiment::topology},
    Setter{{"workload", "Kind of work", "transcode, l7 or trace"}, &Experiment::workload},
    Setter{{"mix", "Targets of the workload transcode, or trace of l7",
            "reference, mixed, modern, small, even; l7: mit, tu, nyp"},
           &Experiment::mix},
    Setter{{"arrivals", "How units arrive",
            "closed, poisson, batch:N, geometric:N, onoff or live; unless given closed, or as "
            "recorded"},
           &Experiment::arrivals},
    Setter{{"classes", "Service classes, streams take turns",
            "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],..."},
           &Experiment::classes},
    Setter{{"scheduler-options", "Forms of the rules, NAME=VALUE,...",
            "as gopmill bench --list prints them", false},
           &Experiment::rules},
    Setter{{"streams", "Streams; 0 = 20, or as many as the trace of l7 had", "0 to 1000000", true},
           nullptr,
           &Experiment::streams,
           nullptr,
           0,
           kMaxStreams},
    Setter{{"concurrent", "Streams at once under closed arrivals; 0 = all", "0 to 1000000", true},
           nullptr,
           &Experiment::concurrent,
           nullptr,
           0,
           kMaxStreams},
    Setter{{"gops", "Units of each stream", "1 to 20000000", true},
           nullptr,
           &Experiment::gops,
           nullptr,
           1,
           static_cast<double>(kMaxUnits)},
    Setter{{"workers", "Workers; 0 = one per PU", "0 to 4096", true},
           nullptr,
           &Experiment::workers,
           nullptr,
           0,
           kMaxPus},
    Setter{{"queue", "Units a worker may hold, the running one included; 0 = no bound",
            "0 to 1000000", true},
           nullptr,
           &Experiment::queue,
           nullptr,
           0,
           1e6},
    Setter{{"window", "Units of a stream in flight under closed arrivals; 0 = 4 x workers + 4",
            "0 to 1000000", true},
           nullptr,
           &Experiment::window,
           nullptr,
           0,
           1e6},
    Setter{{"contexts", "Warm contexts a worker keeps", "0 to 4096", true},
           nullptr,
           &Experiment::contexts,
           nullptr,
           0,
           kMaxContexts},
    Setter{{"spread", "Sigma of the unpredictable part of the cost", "0 to 3", true},
           nullptr,
           nullptr,
           &Experiment::spread,
           0,
           3},
    Setter{{"load", "Offered work as a share of the machine, except under closed arrivals",
            "0.001 to 100", true},
           nullptr,
           nullptr,
           &Experiment::load,
           0.001,
           100},
    Setter{
        {"memory-share", "Share of the work that depends on where the memory is", "0 to 1", true},
        nullptr,
        nullptr,
        &Experiment::memory_share,
        0,
        1},
    Setter{{"refill-ms", "Cost of a wholly displaced cache", "0 to 1000000", true},
           nullptr,
           nullptr,
           &Experiment::refill_ms,
           0,
           1e6},
    Setter{
        {"noise", "Of a trace: its units' times vary by up to this share either way, by the seed",
         "0 to 0.9", true},
        nullptr,
        nullptr,
        &Experiment::noise,
        0,
        0.9},
    Setter{
        {"slow-down", "Of a trace: all times of units are multiplied by it", "0.01 to 100", true},
        nullptr,
        nullptr,
        &Experiment::slow_down,
        0.01,
        100},
    Setter{{"share-window-ms", "Windows of the share error", "1 to 10000000", true},
           nullptr,
           nullptr,
           &Experiment::share_window_ms,
           1,
           1e7},
    Setter{{"switch-ms", "Cost of a change of class on a worker", "0 to 1000000", true},
           nullptr,
           nullptr,
           &Experiment::switch_ms,
           0,
           1e6},
};

constexpr std::array kParams = [] {
  std::array<ExperimentParam, kSetters.size()> params{};
  for (std::size_t i = 0; i < params.size(); ++i) params[i] = kSetters[i].doc;
  return params;
}();

Error BadValue(const ExperimentParam& doc, const std::string& value) {
  return InvalidArgument(std::string(doc.name),
                         "\"" + value.substr(0, 80) + "\" is not a value for it.",
                         std::string(doc.accepted));
}

std::optional<double> ParseNumber(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

// What only the workload "trace" looks at.
Status CheckTraceUse(const Experiment& experiment) {
  if (experiment.workload == "trace") return OkStatus();
  if (experiment.trace != nullptr) {
    return InvalidArgument("trace", "This workload does not look at a trace.", "--workload trace");
  }
  if (experiment.noise != 0) {
    return InvalidArgument("noise", "It varies the times of a trace.", "--workload trace");
  }
  if (experiment.slow_down != 1) {
    return InvalidArgument("slow-down", "It varies the times of a trace.", "--workload trace");
  }
  return OkStatus();
}

bool IsGiven(const std::string& rules, const std::string& name) {
  return rules.starts_with(name + "=") || rules.find("," + name + "=") != std::string::npos;
}

Result<Workload> MakeWorkload(const Experiment& experiment) {
  GOPMILL_RETURN_IF_ERROR(CheckTraceUse(experiment));
  if (experiment.workload == "trace") {
    if (experiment.trace == nullptr) {
      return InvalidArgument("trace", "The workload \"trace\" needs one.", "--trace FILE");
    }
    Workload workload = FromTrace(*experiment.trace);
    VaryTimes(
        workload,
        {.noise = experiment.noise, .slow_down = experiment.slow_down, .seed = experiment.seed});
    return workload;
  }
  if (experiment.workload == "l7") {
    return MakeL7Workload(
        {.trace = experiment.mix, .connections = experiment.streams, .seed = experiment.seed});
  }
  if (experiment.workload != "transcode") {
    return InvalidArgument("workload", "There is no workload of that name.",
                           "transcode, l7 or trace");
  }
  std::vector<ServiceClass> classes = {ServiceClass{}};
  if (!experiment.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes, ParseClasses(experiment.classes));
  }
  return MakeTranscodeWorkload({.mix = experiment.mix,
                                .streams = experiment.streams > 0 ? experiment.streams : 20,
                                .gops = experiment.gops,
                                .spread = experiment.spread,
                                .classes = std::move(classes),
                                .seed = experiment.seed});
}

}  // namespace

std::span<const ExperimentParam> ExperimentParams() { return kParams; }

Status SetParam(Experiment& experiment, std::string_view name, const std::string& value) {
  const auto* const setter =
      std::ranges::find(kSetters, name, [](const Setter& s) { return s.doc.name; });
  if (setter == kSetters.end()) {
    return InvalidArgument(std::string(name), "There is no such parameter.");
  }
  if (setter->text != nullptr) {
    if (value.empty()) return BadValue(setter->doc, value);
    experiment.*setter->text = value;
    return OkStatus();
  }
  const auto number = ParseNumber(value);
  if (!number || *number < setter->low || *number > setter->high) {
    return BadValue(setter->doc, value);
  }
  if (setter->real != nullptr) {
    experiment.*setter->real = *number;
    return OkStatus();
  }
  if (*number != std::floor(*number)) return BadValue(setter->doc, value);
  experiment.*setter->whole = static_cast<int>(*number);
  return OkStatus();
}

Result<PreparedExperiment> Prepare(const Experiment& experiment) {
  std::optional<Arrivals> arrivals;
  if (!experiment.arrivals.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(arrivals, ParseArrivals(experiment.arrivals));
  }
  GOPMILL_ASSIGN_OR_RETURN(Machine machine, LoadMachine(experiment.topology));
  GOPMILL_ASSIGN_OR_RETURN(Workload workload, MakeWorkload(experiment));
  if (experiment.concurrent > 0) workload.concurrent = experiment.concurrent;
  workload.window = experiment.window;
  const int workers = experiment.workers > 0 ? experiment.workers : machine.topology.pu_count();
  if (arrivals) {
    SetArrivals(workload, *arrivals, experiment.load, workers, experiment.seed);
  } else if (experiment.workload == "l7") {
    ScaleToLoad(workload, experiment.load, workers);
  }
  SimulationParams params{.workers = experiment.workers,
                          .run_queue_units = experiment.queue,
                          .cost = {.contexts = experiment.contexts,
                                   .memory_share = experiment.memory_share,
                                   .refill_ms = experiment.refill_ms,
                                   .switch_ms = experiment.switch_ms},
                          .share_window_ms = experiment.share_window_ms};
  GOPMILL_RETURN_IF_ERROR(ParsePolicyOptions(experiment.rules, workers, params.options));
  if (IsGiven(experiment.rules, "contexts")) {
    return InvalidArgument("scheduler-options",
                           "Workers keep as many contexts as the simulated machine lets them.",
                           "--contexts N");
  }
  params.own_ratios = IsGiven(experiment.rules, "ratios");
  return PreparedExperiment{std::move(machine), std::move(workload), std::move(params)};
}

Result<std::vector<std::string>> ParsePolicies(const std::string& text) {
  std::vector<std::string> names;
  if (text == "all") {
    for (const PolicyEntry& entry : Policies()) names.emplace_back(entry.name);
    return names;
  }
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (std::ranges::find(Policies(), name, &PolicyEntry::name) == Policies().end()) {
      return InvalidArgument("scheduler",
                             "There is no policy named \"" + name.substr(0, 40) + "\".",
                             "all, or names separated by commas: " + PolicyNames());
    }
    if (std::ranges::find(names, name) != names.end()) {
      return InvalidArgument("scheduler", "The policy " + name + " is named twice.",
                             "each policy once");
    }
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace gopmill::sim
