// SPDX-License-Identifier: Apache-2.0
//
// One point of a study, with every parameter that can be set from outside by name: what machine,
// what work, what arrivals, what costs. From it come the workload, and a run per policy.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scheduler/sim/simulation.h"
#include "scheduler/sim/trace.h"

namespace gopmill::sim {

struct Experiment {
  std::string topology = "chiplet";
  std::string workload = "transcode";  // transcode, l7, trace
  std::string mix;                     // empty = reference, of l7 tu
  std::string arrivals;                // empty = the workload's own: of the mix, or as recorded
  std::string classes;                 // NAME:WEIGHT,...; empty = one class
  std::string outages;                 // WORKER@FROM:TO,...; empty = none
  std::string rules;                   // forms of the policies' rules, policy_options_text.h
  std::shared_ptr<const RecordedTrace> trace;  // for the workload "trace"
  std::string trace_file;                      // where it came from, for reports
  int streams = 0;     // 0 = as the mix says (20, modern: 8), or as the trace of l7 had
  int concurrent = 0;  // closed feed: streams at once; 0 = all
  int gops = 100;
  int workers = 0;
  int queue = 2;
  int window = 0;
  int contexts = 4;
  double spread = 0.35;
  double load = 0.9;
  double memory_share = 0.02;
  double refill_ms = 0.2;
  double switch_ms = 0;
  double decision_us = 0;  // of the dispatcher, for each unit, one after another
  double noise = 0;        // of a trace: its units' times vary by up to this share either way
  double slow_down = 1;    // of a trace: all times of units are multiplied by it
  double share_window_ms = 10'000;  // of the share error
  std::uint64_t seed = 1;
  // Parameters that came from outside: those nobody would look at are refused (CheckUse).
  std::vector<std::string> given;
};

// A parameter by its name on the command line (without dashes).
struct ExperimentParam {
  std::string_view name;
  std::string_view meaning;
  std::string_view accepted;
  bool sweepable = false;  // numeric
};
std::span<const ExperimentParam> ExperimentParams();

// What a parameter is unless given; empty if that is nothing, or something that its meaning says.
std::string DefaultOf(std::string_view name);

// Sets a parameter from text and remembers that it was given. Not a number, NaN, out of range,
// unknown: an error that names it.
Status SetParam(Experiment& experiment, std::string_view name, const std::string& value);

bool IsGiven(const Experiment& experiment, std::string_view name);

// Whether the workload, its mix or its arrivals look at it.
bool IsRead(const Experiment& experiment, std::string_view name);

// Whether the seed says anything: not of a trace whose units come and take as recorded.
bool DrawsNumbers(const Experiment& experiment);

// What a parameter comes to, defaults said out ("one per PU" for 0 workers).
using ParamValue = std::variant<std::string, int, double>;
ParamValue ValueOf(const Experiment& experiment, std::string_view name);

// The mix that runs: the one given, or the workload's own.
std::string MixOf(const Experiment& experiment);

// What a wholly displaced cache costs. A connection of l7 has a few kilobytes: nothing unless
// given.
double RefillMillis(const Experiment& experiment);

// Ok unless a parameter was given that the workload, its mix or its arrivals do not look at; the
// error names it and what would.
Status CheckUse(const Experiment& experiment);

// What all policies of one point share.
struct PreparedExperiment {
  Machine machine;
  Workload workload;
  SimulationParams params;
};
Result<PreparedExperiment> Prepare(const Experiment& experiment);

}  // namespace gopmill::sim
