// SPDX-License-Identifier: Apache-2.0
#include "server/bench/report_fields.h"

#include <array>
#include <initializer_list>
#include <span>

namespace gopmill::bench {
namespace {

// "*" stands for any part of a path.
constexpr auto kHead = std::to_array<FieldDoc>({
    {"format", "gopmill-bench"},
    {"version", "of the format: 2 since what is not measured is null"},
    {"machine", "where it ran, and with what"},
    {"machine.cpu", "model, as the kernel names it"},
    {"machine.cpus", "that the process may run on"},
    {"machine.kernel", "name and release"},
    {"machine.load", "load average of the last minute before the first run; -1 = not known"},
    {"machine.date", "begin, UTC"},
    {"machine.gopmill", "version"},
    {"machine.ffmpeg", "version"},
    {"machine.compiler", "that built gopmill"},
    {"command", "the whole command line"},
    {"workload", "name of the mix, or the trace"},
    {"unit", "how streams are cut: gop, or seconds"},
    {"duration_s", "seconds of each movie; empty for a replay"},
    {"preset", "of the encoder; empty for a replay"},
    {"crf", "rate factor of all streams; empty where they have their bit rates"},
    {"streams", "number of streams"},
    {"queue", "units a run queue holds, the running one included; 0 = without bound"},
    {"seed", "of targets, bursts and the order of policies"},
    {"repeats", "rounds: each policy ran once in each"},
    {"warm_up_runs", "runs before the first round, in no figure"},
    {"balanced_rounds",
     "after how many rounds each policy has run equally often in each place and behind each other"},
    {"baseline", "the policy that ratios and differences are to"},
    {"compared", "measures of which the tables show these"},
    {"compared.ratios", "divided by the baseline"},
    {"compared.differences", "less the baseline, for those that can be 0"},
    {"cache_misses", "counted, or why not"},
    {"interval", "how the intervals were made"},
    {"interval.method",
     "between two order statistics of the values, at 95 % or more where there are six or more"},
    {"interval.coverage", "of an interval over all repeats, which are taken as independent"},
    {"violations", "sentences about what must not be; empty = all is well"},
    {"classes", "service classes, in order of class_shares"},
    {"classes.name", "of the class"},
    {"classes.weight", "that it was given"},
    {"classes.due",
     "part of the workers' time while all classes have units: by weight, within guarantee and "
     "maximum"},
    {"measures", "the measures of a run: what they are, and how tables show them"},
    {"fields", "all other fields"},
});

constexpr auto kPolicies = std::to_array<FieldDoc>({
    {"policies", "each policy over the rounds"},
    {"policies.policy", "its name"},
    {"policies.measures", "median over the rounds; null = not measured"},
    {"policies.ratios",
     "through the baseline's of the same round; null where that is 0 in a round"},
    {"policies.differences", "less the baseline's of the same round"},
    {"policies.class_shares",
     "part of the workers' time by class, while units of all classes waited"},
    {"policies.*.median", "of the values, one a round"},
    {"policies.*.low", "lower end of the interval, which holds the true median with the coverage"},
    {"policies.*.high", "upper end"},
    {"policies.*.values", "rounds that tell the measure"},
    {"policies.*.coverage", "probability of the interval; 0 for one value"},
    {"policies.cores", "each worker, means over the rounds"},
    {"policies.stages_ms",
     "the life of a GOP, ms per unit, means over the rounds; null = not measured"},
});

constexpr auto kRuns = std::to_array<FieldDoc>({
    {"runs",
     "each run that counts, in the order they ran; the measures as above, null = not measured"},
    {"runs.policy", "its name"},
    {"runs.repeat", "round, from 0"},
    {"runs.workers", "number of workers"},
    {"runs.gops", "units that ran"},
    {"runs.retries", "units that were run again after a failure"},
    {"runs.decisions", "calls of the policy: with units, free workers, and what became of them"},
    {"runs.cache", "last level, user space; null = not counted"},
    {"runs.cache.references", "to the cache"},
    {"runs.cache.misses", "of these"},
    {"runs.class_shares",
     "part of the workers' time by class; null where they never waited at the same time"},
    {"runs.cores", "each worker"},
    {"runs.stages_ms", "the life of a GOP, ms per unit; null = not measured"},
    {"runs.streams", "what came out"},
    {"runs.streams.stream", "number, from 1; of the trace in a replay"},
    {"runs.streams.name", "movie and size"},
    {"runs.streams.bytes", "of the container; null for a replay"},
    {"runs.streams.frames", "pictures; null for a replay"},
    {"runs.streams.hash", "64-bit FNV-1a of the container; null for a replay"},
});

constexpr auto kEverywhere = std::to_array<FieldDoc>({
    {"*.cores.worker", "from 0"},
    {"*.cores.cpu", "that it is pinned to, as the operating system counts"},
    {"*.cores.units", "that ran there; a mean is rounded down"},
    {"*.cores.busy_s", "wall clock inside units"},
    {"*.cores.cpu_s", "CPU time in them, with threads of encoders and decoding aside"},
    {"*.cores.utilisation", "busy_s / makespan"},
    {"*.stages_ms.read", "reading the unit and cutting it off"},
    {"*.stages_ms.window wait", "until the stream's window had room"},
    {"*.stages_ms.global queue", "submitted to assigned, less schedule"},
    {"*.stages_ms.schedule",
     "inside the policy, decisions that named the unit; all of them: decision_us"},
    {"*.stages_ms.run queue", "assigned to begun, less schedule"},
    {"*.stages_ms.decode", "on the worker"},
    {"*.stages_ms.filter", "on the worker"},
    {"*.stages_ms.encode", "on the worker"},
    {"*.stages_ms.other", "on the worker, but none of these; all of it in a replay"},
    {"*.stages_ms.reorder wait", "finished to released in order"},
    {"*.stages_ms.mux and send", "after that, whole streams"},
});

}  // namespace

std::vector<FieldDoc> FieldDocs() {
  std::vector<FieldDoc> docs;
  for (const std::span<const FieldDoc> part :
       std::initializer_list<std::span<const FieldDoc>>{kHead, kPolicies, kRuns, kEverywhere}) {
    docs.insert(docs.end(), part.begin(), part.end());
  }
  return docs;
}

}  // namespace gopmill::bench
