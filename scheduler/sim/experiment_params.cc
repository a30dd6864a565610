// SPDX-License-Identifier: Apache-2.0
//
// The table of parameters: text in, limits, and who looks at them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/digits.h"
#include "scheduler/sim/experiment.h"
#include "scheduler/sim/transcode_workload.h"

namespace gopmill::sim {
namespace {

// Which workloads look at a parameter.
enum Readers : unsigned { kByTranscode = 1, kByL7 = 2, kByTrace = 4, kByAll = 7 };
constexpr std::array kWorkloads = {std::pair("transcode", kByTranscode), std::pair("l7", kByL7),
                                   std::pair("trace", kByTrace)};

struct Setter {
  ExperimentParam doc;
  unsigned readers = kByAll;
  std::string Experiment::*text = nullptr;
  int Experiment::*whole = nullptr;
  double Experiment::*real = nullptr;
  double low = 0, high = 0;
};

constexpr Setter Text(ExperimentParam doc, std::string Experiment::*field,
                      unsigned readers = kByAll) {
  return {.doc = doc, .readers = readers, .text = field};
}
constexpr Setter Whole(ExperimentParam doc, int Experiment::*field, double low, double high,
                       unsigned readers = kByAll) {
  doc.sweepable = true;
  return {.doc = doc, .readers = readers, .whole = field, .low = low, .high = high};
}
constexpr Setter Real(ExperimentParam doc, double Experiment::*field, double low, double high,
                      unsigned readers = kByAll) {
  doc.sweepable = true;
  return {.doc = doc, .readers = readers, .real = field, .low = low, .high = high};
}

using E = Experiment;
constexpr std::array kSetters = {
    Text({"topology", "Machine",
          "a name that --list prints, chiplet:N, pu:N, hwloc notation, x.xml"},
         &E::topology),
    Text({"workload", "Kind of work", "transcode or l7; trace goes with --trace"}, &E::workload),
    Text({"mix", "Streams of the workload transcode (reference unless given), or trace of l7 (tu)",
          "reference, modern, live, bursty, mixed, small, even; l7: tu, mit, nyp"},
         &E::mix, kByTranscode | kByL7),
    Text({"arrivals", "How units arrive; deadlines of a trace move along, and closed has none",
          "closed, poisson, batch:N, geometric:N, onoff or live; unless given as the mix says "
          "(closed), or as recorded"},
         &E::arrivals),
    Text({"classes",
          "Service classes; streams take turns, those of a trace go by name; MAX_WORKERS holds "
          "under ps-hrw and gps-hrw and while another class waits",
          "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],..."},
         &E::classes, kByTranscode | kByTrace),
    Text({"outages", "Workers that are out of service for a time, or from then on",
          "WORKER@FROM[:TO],... in seconds"},
         &E::outages),
    Text({"scheduler-options", "Forms of the rules, NAME=VALUE,...", "as --list prints them"},
         &E::rules),
    Whole({"streams", "Streams; 0 = 20, modern: 8, or as many as the trace of l7 had",
           "0 to 1000000"},
          &E::streams, 0, kMaxStreams, kByTranscode | kByL7),
    Whole({"concurrent", "Streams at once under closed arrivals; 0 = all", "0 to 1000000"},
          &E::concurrent, 0, kMaxStreams),
    Whole({"gops", "Units of each stream", "1 to 20000000"}, &E::gops, 1,
          static_cast<double>(kMaxUnits), kByTranscode),
    Whole({"workers", "Workers; 0 = one per PU", "0 to the number of PUs"}, &E::workers, 0,
          kMaxPus),
    Whole({"queue", "Units a worker may hold, the running one included; 0 = no bound",
           "0 to 1000000"},
          &E::queue, 0, 1e6),
    Whole({"window", "Units of a stream in flight under closed arrivals; 0 = workers + 1",
           "0 to 1000000"},
          &E::window, 0, 1e6),
    Whole({"contexts", "Warm contexts a worker keeps", "0 to 4096"}, &E::contexts, 0, kMaxContexts),
    Real({"spread", "Sigma of the unpredictable part of the cost", "0 to 3"}, &E::spread, 0, 3,
         kByTranscode),
    Real({"load", "Offered work as a share of the machine, except under closed arrivals",
          "0.001 to 100"},
         &E::load, 0.001, 100),
    Real({"memory-share", "Share of the work that depends on where the memory is", "0 to 1"},
         &E::memory_share, 0, 1),
    Real({"refill-ms", "Cost of a wholly displaced cache; of l7 0", "0 to 1000000"}, &E::refill_ms,
         0, 1e6),
    Real({"noise", "Of a trace: its units' times vary by up to this share either way, by the seed",
          "0 to 0.9"},
         &E::noise, 0, 0.9, kByTrace),
    Real({"slow-down", "Of a trace: all times of units are multiplied by it", "0.01 to 100"},
         &E::slow_down, 0.01, 100, kByTrace),
    Real({"share-window-ms", "Windows of the share error; one begins every 50th of it",
          "1 to 10000000"},
         &E::share_window_ms, 1, 1e7),
    Real({"switch-ms", "Cost of a change of class on a worker", "0 to 1000000"}, &E::switch_ms, 0,
         1e6),
    Real({"decision-us",
          "Microseconds that the dispatcher takes to give a unit to a worker, one after another; 0 "
          "= none",
          "0 to 1000000"},
         &E::decision_us, 0, 1e6),
};

constexpr std::array kParams = [] {
  std::array<ExperimentParam, kSetters.size()> params{};
  for (std::size_t i = 0; i < params.size(); ++i) params[i] = kSetters[i].doc;
  return params;
}();

const Setter* FindSetter(std::string_view name) {
  const auto* const found =
      std::ranges::find(kSetters, name, [](const Setter& s) { return s.doc.name; });
  return found == kSetters.end() ? nullptr : found;
}

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

Status AssignWhole(Experiment& experiment, const Setter& setter, const std::string& value) {
  if (value.empty() || !std::ranges::all_of(value, IsDigit)) {
    return InvalidArgument(std::string(setter.doc.name),
                           "\"" + value.substr(0, 80) + "\" is not a whole number.",
                           std::string(setter.doc.accepted));
  }
  const auto number = ParseDigits(value);
  if (!number) return BadValue(setter.doc, value);  // too many of them
  const auto real = static_cast<double>(*number);
  if (real < setter.low || real > setter.high) return BadValue(setter.doc, value);
  experiment.*setter.whole = static_cast<int>(*number);
  return OkStatus();
}

Status Assign(Experiment& experiment, const Setter& setter, const std::string& value) {
  if (setter.text != nullptr) {
    if (value.empty()) return BadValue(setter.doc, value);
    experiment.*setter.text = value;
    return OkStatus();
  }
  if (setter.whole != nullptr) return AssignWhole(experiment, setter, value);
  const auto number = ParseNumber(value);
  if (!number || *number < setter.low || *number > setter.high) return BadValue(setter.doc, value);
  experiment.*setter.real = *number;
  return OkStatus();
}

// --- What is looked at ---------------------------------------------------------------------------

Status CheckReadBy(const Experiment& experiment, unsigned workload) {
  for (const std::string& name : experiment.given) {
    const Setter& setter = *FindSetter(name);
    if ((setter.readers & workload) != 0) continue;
    std::string others;
    for (const auto& [other, bit] : kWorkloads) {
      if ((setter.readers & bit) == 0) continue;
      others += (others.empty() ? "--workload " : " or ") + std::string(other);
    }
    return InvalidArgument(
        name, fmt::format("The workload {} does not look at it.", experiment.workload), others);
  }
  return OkStatus();
}

Status CheckClassUse(const Experiment& experiment) {
  if (experiment.classes.find(',') != std::string::npos) return OkStatus();
  for (const char* name : {"share-window-ms", "switch-ms"}) {
    if (!IsGiven(experiment, name)) continue;
    return InvalidArgument(name, "There are not two classes.", "with --classes A:WEIGHT,B:WEIGHT");
  }
  return OkStatus();
}

// What the arrivals leave to be said.
struct ArrivalUse {
  bool arrivals = true, load = true, in_flight = true, concurrent = true;
};

ArrivalUse UseOf(const Experiment& experiment, MixArrivals of_mix) {
  if (of_mix == MixArrivals::kRealTime) return {false, false, false, false};
  if (of_mix == MixArrivals::kBursts) return {false, false, true, false};
  const bool own = experiment.arrivals.empty();
  const bool closed = own ? experiment.workload == "transcode" : experiment.arrivals == "closed";
  const bool recorded = own && experiment.workload == "trace";
  return {.load = !closed && !recorded, .in_flight = closed, .concurrent = closed};
}

Status CheckArrivalUse(const Experiment& experiment, const ArrivalUse& use) {
  if (!use.arrivals && !experiment.arrivals.empty()) {
    return InvalidArgument("arrivals",
                           "The mix " + MixOf(experiment) + " says when its units arrive.",
                           "another mix: --mix reference --arrivals " + experiment.arrivals);
  }
  const auto refused = [&](const char* name, bool used) {
    return !used && IsGiven(experiment, name);
  };
  if (refused("load", use.load)) {
    return InvalidArgument("load", "These arrivals offer as much work as they do.",
                           "with --arrivals poisson, batch:N, geometric:N, onoff or live");
  }
  for (const auto& [name, used] :
       {std::pair("window", use.in_flight), std::pair("concurrent", use.concurrent)}) {
    if (!refused(name, used)) continue;
    return InvalidArgument(name, "These arrivals wait for nobody.", "with --arrivals closed");
  }
  return OkStatus();
}

MixArrivals ArrivalsOfMix(const Experiment& experiment) {
  if (experiment.workload != "transcode") return MixArrivals::kAsAsked;
  const Result<const Mix*> mix = FindMix(MixOf(experiment));
  return mix.ok() ? (*mix)->arrivals : MixArrivals::kAsAsked;
}

std::string ArrivalsText(const Experiment& experiment) {
  if (!experiment.arrivals.empty()) return experiment.arrivals;
  if (experiment.workload == "trace") return "as recorded";
  if (experiment.workload == "l7") return "packet by packet";
  const MixArrivals of_mix = ArrivalsOfMix(experiment);
  if (of_mix == MixArrivals::kRealTime) return "real time";
  return of_mix == MixArrivals::kBursts ? "closed, in bursts" : "closed";
}

ParamValue StreamsOf(const Experiment& experiment) {
  if (experiment.streams > 0) return experiment.streams;
  if (experiment.workload != "transcode") return "as many as the trace had";
  const Result<const Mix*> mix = FindMix(MixOf(experiment));
  return mix.ok() ? (*mix)->default_streams : 0;
}

// What the defaults that are 0 or empty stand for; nothing for other values.
std::optional<ParamValue> Resolved(const Experiment& experiment, std::string_view name) {
  if (name == "mix") return MixOf(experiment);
  if (name == "arrivals") return ArrivalsText(experiment);
  if (name == "streams") return StreamsOf(experiment);
  if (name == "classes" && experiment.classes.empty()) return "one";
  if (name == "outages" && experiment.outages.empty()) return "none";
  if (name == "workers" && experiment.workers == 0) return "one per PU";
  if (name == "concurrent" && experiment.concurrent == 0) return "all";
  if (name == "window" && experiment.window == 0) return "workers + 1";
  if (name == "queue" && experiment.queue == 0) return "no bound";
  if (name == "refill-ms") return RefillMillis(experiment);
  return std::nullopt;
}

}  // namespace

bool IsRead(const Experiment& experiment, std::string_view name) {
  const Setter* const setter = FindSetter(name);
  if (setter == nullptr) return false;
  for (const auto& [workload, bit] : kWorkloads) {
    if (workload == experiment.workload && (setter->readers & bit) == 0) return false;
  }
  const ArrivalUse use = UseOf(experiment, ArrivalsOfMix(experiment));
  if (name == "load") return use.load;
  if (name == "window") return use.in_flight;
  if (name == "concurrent") return use.concurrent;
  return true;
}

bool DrawsNumbers(const Experiment& experiment) {
  const bool as_recorded = experiment.arrivals.empty() || experiment.arrivals == "closed";
  return experiment.workload != "trace" || experiment.noise > 0 || !as_recorded;
}

ParamValue ValueOf(const Experiment& experiment, std::string_view name) {
  if (auto resolved = Resolved(experiment, name)) return *resolved;
  const Setter& setter = *FindSetter(name);
  if (setter.text != nullptr) return experiment.*setter.text;
  if (setter.whole != nullptr) return experiment.*setter.whole;
  return experiment.*setter.real;
}

std::span<const ExperimentParam> ExperimentParams() { return kParams; }

std::string DefaultOf(std::string_view name) {
  const Setter& setter = *FindSetter(name);
  const Experiment defaults;
  if (setter.text != nullptr) return defaults.*setter.text;
  const double value = setter.whole != nullptr ? defaults.*setter.whole : defaults.*setter.real;
  return value == 0 ? std::string() : fmt::format("{}", value);
}

Status SetParam(Experiment& experiment, std::string_view name, const std::string& value) {
  const Setter* const setter = FindSetter(name);
  if (setter == nullptr) {
    return InvalidArgument(std::string(name), "There is no such parameter.");
  }
  GOPMILL_RETURN_IF_ERROR(Assign(experiment, *setter, value));
  if (!IsGiven(experiment, name)) experiment.given.emplace_back(name);
  return OkStatus();
}

bool IsGiven(const Experiment& experiment, std::string_view name) {
  return std::ranges::find(experiment.given, name) != experiment.given.end();
}

std::string MixOf(const Experiment& experiment) {
  if (!experiment.mix.empty() || experiment.workload == "trace") return experiment.mix;
  return experiment.workload == "l7" ? "tu" : "reference";
}

double RefillMillis(const Experiment& experiment) {
  const bool nothing = experiment.workload == "l7" && !IsGiven(experiment, "refill-ms");
  return nothing ? 0 : experiment.refill_ms;
}

Status CheckUse(const Experiment& experiment) {
  const auto* const workload = std::ranges::find(
      kWorkloads, experiment.workload, [](const auto& entry) { return std::string(entry.first); });
  if (workload == kWorkloads.end()) {
    return InvalidArgument("workload", "There is no workload of that name.",
                           "transcode, l7 or trace");
  }
  if (experiment.trace != nullptr && workload->second != kByTrace) {
    return InvalidArgument("trace", "The workload " + experiment.workload + " does not read it.",
                           "--workload trace, or the trace alone");
  }
  if (experiment.trace == nullptr && workload->second == kByTrace) {
    return InvalidArgument("trace", "The workload trace needs one.", "--trace FILE");
  }
  GOPMILL_RETURN_IF_ERROR(CheckReadBy(experiment, workload->second));
  GOPMILL_RETURN_IF_ERROR(CheckClassUse(experiment));
  MixArrivals of_mix = MixArrivals::kAsAsked;
  if (workload->second == kByTranscode) {
    GOPMILL_ASSIGN_OR_RETURN(const Mix* const mix, FindMix(MixOf(experiment)));
    of_mix = mix->arrivals;
  }
  return CheckArrivalUse(experiment, UseOf(experiment, of_mix));
}

}  // namespace gopmill::sim
