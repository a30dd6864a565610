// SPDX-License-Identifier: Apache-2.0
#include "server/cli/bench_args.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/shared_settings.h"
#include "server/bench/comparison.h"
#include "server/bench/workload.h"
#include "server/cli/whole_number.h"

namespace gopmill::cli {
namespace {

constexpr const char* kFooter =
    "Every policy runs once per round and rounds are repeated, so that disturbances meet all "
    "alike;\n"
    "orders are balanced: each policy follows each other one equally often.\n"
    "Exit code 1 also when outputs differ between policies, or a work-conserving one lets work "
    "wait.\n\n"
    "Examples:\n"
    "  gopmill bench --quick\n"
    "  gopmill bench --scheduler fifo,h-cahrw --repeat 10 --html bench.html --json bench.json\n"
    "  gopmill bench --mix live --streams 12 --perfetto live.json\n"
    "  gopmill bench --trace day.trace --scheduler all";

struct Range {
  std::int64_t low = 0, high = 0;
};

void AddBenchOutputs(CLI::App& command, BenchArgs& args) {
  const auto add = [&command](const char* name, std::string& file, const char* meaning) {
    command.add_option(name, file, meaning)->type_name("FILE")->group("Output");
  };
  add("--json", args.json, "Write all results; - is stdout");
  add("--html", args.html, "Write a page with charts, in one file");
  add("--perfetto", args.perfetto, "Write the first round for ui.perfetto.dev or chrome://tracing");
  add("--record", args.record,
      "Write arrivals and costs of the first run that counts, for --trace");
}

}  // namespace

void AddBench(CLI::App& app, BenchArgs& args) {
  CLI::App* command = app.add_subcommand("bench", "Compare the policies on this machine");
  command->footer(kFooter);
  const auto add = [command](const char* name, auto& value, const char* meaning) {
    return command->add_option(name, value, meaning);
  };
  const auto whole = [&add](const char* name, auto& value, Range range, const char* unit,
                            const char* meaning) {
    add(name, value, meaning)->type_name(unit)->transform(WholeNumber(range.low, range.high));
  };
  CLI::Option* const list =
      command->add_flag("--list", args.list, "List the policies and the mixes, then end");
  add("--scheduler", args.schedulers, "Policies with commas between, or all")->type_name("A,B,...");
  add("--baseline", args.baseline,
      "Policy that the others are compared with, round by round; fifo unless given")
      ->type_name("NAME");
  add("--mix", args.mix, "Streams: reference, modern, live or bursty")->type_name("NAME");
  whole("--streams", args.streams, {1, bench::kMaxStreams}, "N",
        "Number of streams; 20 unless given, modern: 8");
  add("--duration", args.duration, "Seconds of each movie; 20 unless given")->type_name("S");
  whole("--repeat,--repeats", args.repeats, {1, bench::kMaxRepeats}, "R", "Rounds; 5 unless given");
  whole("--warm-up", args.warm_ups, {0, bench::kMaxWarmUps}, "RUNS",
        "Runs before the first round that do not count; 1 unless given, "
        "0 of a trace");
  add("--unit", args.unit, "gop, or seconds of video per unit")->type_name("gop|S");
  add("--preset", args.preset, "Of the encoder")->type_name("NAME");
  add("--crf", args.crf,
      "One rate factor for all streams in place of their bit rates: the same pictures from any\n"
      "program with this encoder")
      ->type_name("F");
  command->add_flag("--audio", args.audio, "Transcode the sound too");
  add("--scheduler-options", args.scheduler_options,
      "Forms of the policies' rules, as gopmill bench --list prints them: NAME=VALUE,...");
  add("--classes", args.classes,
      "Service classes with weights, streams take them in turn: "
      "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],...; MAX_WORKERS holds under ps-hrw\n"
      "and gps-hrw and while another class waits")
      ->type_name("A:5,B:3,...");
  whole("--workers", args.workers, {0, kMaxWorkers}, "N", "Worker threads; 0 = one per CPU");
  whole(
      "--queue", args.queue, {0, bench::kMaxRunQueue}, "UNITS",
      "Units a run queue holds, the running one included, as in the server: 2; 0 = without bound,\n"
      "as the publications have it");
  whole("--seed", args.seed, {0, bench::kMaxSeed}, "N",
        "What targets, bursts and the order of policies are drawn from");
  add("--movies", args.movies, "Folder with the bundled movies; in a checkout its own unless given")
      ->type_name("DIR");
  CLI::Option* trace = add("--trace,--replay", args.trace, "Run a recording instead of movies");
  trace->type_name("FILE");
  for (const char* name :
       {"--mix", "--streams", "--duration", "--unit", "--preset", "--crf", "--audio", "--movies"}) {
    trace->excludes(command->get_option(name));
  }
  command->add_flag("--quick", args.quick, "6 streams, 3 s, 2 rounds, unless given");
  AddBenchOutputs(*command, args);
  trace->excludes(command->get_option("--record"));
  for (CLI::Option* const other : command->get_options()) {
    if (other != list && other != command->get_help_ptr()) list->excludes(other);
  }
}

}  // namespace gopmill::cli
