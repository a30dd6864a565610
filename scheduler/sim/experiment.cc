// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/experiment.h"

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

bool HasRule(const std::string& rules, const std::string& name) {
  return rules.starts_with(name + "=") || rules.find("," + name + "=") != std::string::npos;
}

Result<Workload> WorkloadOfTrace(const Experiment& experiment,
                                 const std::vector<ServiceClass>& classes) {
  GOPMILL_ASSIGN_OR_RETURN(Workload workload, FromTrace(*experiment.trace, classes));
  VaryTimes(
      workload,
      {.noise = experiment.noise, .slow_down = experiment.slow_down, .seed = experiment.seed});
  return workload;
}

Result<Workload> MakeWorkload(const Experiment& experiment) {
  GOPMILL_RETURN_IF_ERROR(CheckUse(experiment));
  std::vector<ServiceClass> classes = {ServiceClass{}};
  if (!experiment.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes, ParseClasses(experiment.classes));
  }
  const std::string mix = MixOf(experiment);
  if (experiment.workload == "l7") {
    return MakeL7Workload(
        {.trace = mix, .connections = experiment.streams, .seed = experiment.seed});
  }
  if (experiment.workload == "trace") {
    if (experiment.classes.empty()) classes.clear();
    return WorkloadOfTrace(experiment, classes);
  }
  return MakeTranscodeWorkload({.mix = mix,
                                .streams = experiment.streams,
                                .gops = experiment.gops,
                                .spread = experiment.spread,
                                .classes = std::move(classes),
                                .seed = experiment.seed});
}

}  // namespace

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
    workload.places.clear();  // units come in their order then
    SetArrivals(workload, *arrivals, experiment.load, workers, experiment.seed);
  } else if (experiment.workload == "l7") {
    ScaleToLoad(workload, experiment.load, workers);
  }
  SimulationParams params{.workers = experiment.workers,
                          .run_queue_units = experiment.queue,
                          .decision_us = experiment.decision_us,
                          .cost = {.contexts = experiment.contexts,
                                   .memory_share = experiment.memory_share,
                                   .refill_ms = RefillMillis(experiment),
                                   .switch_ms = experiment.switch_ms},
                          .share_window_ms = experiment.share_window_ms};
  GOPMILL_ASSIGN_OR_RETURN(params.changes, ParseOutages(experiment.outages));
  GOPMILL_RETURN_IF_ERROR(ParsePolicyOptions(experiment.rules, workers, params.options));
  if (HasRule(experiment.rules, "contexts")) {
    return InvalidArgument("scheduler-options",
                           "Workers keep as many contexts as the simulated machine lets them.",
                           "--contexts N");
  }
  params.own_ratios = HasRule(experiment.rules, "ratios");
  return PreparedExperiment{std::move(machine), std::move(workload), std::move(params)};
}

}  // namespace gopmill::sim
