// SPDX-License-Identifier: Apache-2.0
#include "server/cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_name.h"
#include "base/ids.h"
#include "base/shared_settings.h"
#include "config/settings.h"
#include "media/target_params.h"
#include "scheduler/policy_registry.h"
#include "server/bench/topology_measure.h"
#include "server/cli/exit_codes.h"
#include "server/cli/usage_hints.h"
#include "server/cli/whole_number.h"
#include "server/segments/segment_request.h"
#include "server/stream/build_identity.h"

namespace gopmill::cli {
namespace {

constexpr const char* kMainFooter =
    "Exit codes: 0 done, 1 failed while running, 2 wrong command line or setting,\n"
    "3 source unusable, 130 interrupted.\n\n"
    "Examples:\n"
    "  gopmill transcode movie.mkv small.mp4 --size 640x360 --fps 24 --bitrate 600k\n"
    "  gopmill serve --library ~/Videos\n"
    "  gopmill COMMAND --help";
constexpr const char* kTranscodeFooter =
    "Size, frame rate and bit rate are the source's unless given, the bit rate less for smaller "
    "or\n"
    "fewer pictures. The output has its name only once it is complete.\n\n"
    "Examples:\n"
    "  gopmill transcode movie.mkv small.mp4 --size 640x360 --fps 24 --bitrate 600k\n"
    "  gopmill transcode movie.mkv clip.webm --start 1:30 --duration 20 --height 480\n"
    "  gopmill transcode movie.mkv out.mkv --crf 22 --vcodec hevc --acodec copy\n"
    "  cat movie.ts | gopmill transcode - - --container ts --bitrate 1M | ffplay -";
constexpr const char* kPackageFooter =
    "Writes what gopmill serve answers below /v1/hls and /v1/dash as files, for any web server:\n"
    "master.m3u8, manifest.mpd (not with --container ts) and all that they name. Segments are the\n"
    "same bytes. They get their names only once all are made.\n\n"
    "Examples:\n"
    "  gopmill package movie.mkv out --rungs 1280x720:2500k,854x480:1200k,640x360:700k\n"
    "  gopmill package movie.mkv out --size 640x360 --bitrate 700k --container ts --segment 6";
constexpr const char* kExplainFooter =
    "Examples:\n"
    "  gopmill explain movie.mkv --size 640x360 --bitrate 600k\n"
    "  gopmill explain movie.mkv --unit gop --json -";
constexpr const char* kServeFooter =
    "Settings: built-in defaults < config file < environment (GOPMILL_HTTP_PORT=8081) < flags.\n"
    "SIGTERM or Ctrl-C lets running streams finish for --drain-timeout seconds, a second one ends\n"
    "at once; SIGHUP reads the settings again, or ends it where its terminal is gone.\n\n"
    "Examples:\n"
    "  gopmill serve --library ~/Videos\n"
    "  gopmill serve --library ~/Videos --http-address 0.0.0.0 --http-port 8081\n"
    "  gopmill serve --config gopmill.json --print-config";
constexpr const char* kTopologyFooter =
    "--measure runs GOPs of a movie where they are at home and moves them to other CPUs, for each\n"
    "level of the machine that two CPUs share. It ends with the option that makes the cache-aware\n"
    "policies use what was measured. Let nothing else run meanwhile.\n\n"
    "Examples:\n"
    "  gopmill topology\n"
    "  taskset -c 0,2 gopmill topology --json -\n"
    "  gopmill topology --measure --repeat 50 --json ratios.json";

std::string Complaint(const std::string& command, const std::string& text) {
  const std::string name = command.empty() ? "gopmill" : "gopmill " + command;
  return name + ": " + text + "\nTry '" + name + " --help'.\n";
}

// Options whose values are kept as text until the whole line has been read.
struct TargetOptions {
  std::vector<std::pair<std::string_view, std::string>> values;
};

struct Line {
  TranscodeArgs transcode;
  PackageArgs package;
  ExplainArgs explain;
  ServeArgs serve;
  TopologyArgs topology;
  BenchArgs bench;
  SimulateArgs simulate;
  TargetOptions transcode_target, package_target, explain_target;
};

std::string OptionText(std::string_view meaning, std::string_view accepted) {
  return std::string(meaning) + ": " + std::string(accepted);
}

void AddTargetOptions(CLI::App& command, TargetOptions& target,
                      std::span<const ParamDoc> docs = TargetParams()) {
  for (const ParamDoc& doc : docs) {
    const auto keep = [&target, name = doc.name](const std::string& value) {
      target.values.emplace_back(name, value);
    };
    command
        .add_option_function<std::string>("--" + std::string(doc.name), keep,
                                          OptionText(doc.meaning, doc.accepted))
        ->type_name("")
        ->group("Target");
  }
}

void AddJobOptions(CLI::App& command, JobArgs& args) {
  args.scheduler = kDefaultPolicy;
  args.log_level = "error";  // what matters is in the summary and the report
  command
      .add_option("--scheduler", args.scheduler, "Policy that spreads the work: " + PolicyNames())
      ->type_name("NAME");
  command
      .add_option("--scheduler-options", args.scheduler_options,
                  "Forms of its rules, as gopmill bench --list prints them")
      ->type_name("NAME=VALUE,...");
  command.add_option("--classes", args.classes, "Service classes, for --class")
      ->type_name("NAME:WEIGHT,...");
  command.add_option("--workers", args.workers, "Worker threads; 0 = one per CPU")
      ->type_name("N")
      ->transform(WholeNumber(0, kMaxWorkers));
  command.add_option("--json", args.json, "Write the report as JSON; - is stdout")
      ->type_name("FILE|-");
  command
      .add_option("--log-level", args.log_level,
                  std::string(kLogLevelsText) + "; error unless given")
      ->type_name("LEVEL")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kLogLevels), std::end(kLogLevels))));
}

void AddTranscode(CLI::App& app, Line& line) {
  CLI::App* command = app.add_subcommand("transcode", "Transcode one file on all cores");
  command->footer(kTranscodeFooter);
  TranscodeArgs& args = line.transcode;
  command->add_option("IN", args.input, "Source file; - is stdin")->required()->type_name("");
  command->add_option("OUT", args.output, "Output file; - is stdout")->required()->type_name("");
  AddTargetOptions(*command, line.transcode_target);
  AddJobOptions(*command, args);
  command->add_flag("--force", args.force, "Replace OUT if it exists");
  command->add_flag("--quiet", args.quiet,
                    "No progress, notes and summary; warnings and errors stay");
  command->add_flag("--verify", args.verify,
                    "Decode the output and check every join; fail on any fault");
}

void AddPackage(CLI::App& app, Line& line) {
  CLI::App* command =
      app.add_subcommand("package", "Write a movie as HLS and DASH, in one or more renditions");
  command->footer(kPackageFooter);
  PackageArgs& args = line.package;
  command->add_option("IN", args.input, "Source file")->required()->type_name("");
  command->add_option("OUT", args.output, "Folder, new or empty")->required()->type_name("");
  const auto add = [&](const char* name, const char* meaning) {
    const auto keep = [&line, name](const std::string& value) {
      line.package_target.values.emplace_back(name, value);
    };
    command->add_option_function<std::string>("--" + std::string(name), keep, meaning)
        ->type_name("")
        ->group("Presentation");
  };
  add("rungs",
      "Renditions: 1 to 12, like 1280x720:2500k,640x360:700k; else one, as the target says");
  add("segment", "Length of a segment: 0.5 to 20 seconds; 2 unless given");
  std::vector<ParamDoc> docs = SegmentParams();
  std::erase_if(docs, [](const ParamDoc& doc) { return doc.name == "subtitles"; });  // off alone
  AddTargetOptions(*command, line.package_target, docs);
  AddJobOptions(*command, args);
  command->add_flag("--quiet", args.quiet,
                    "No progress, notes and summary; warnings and errors stay");
}

void AddExplain(CLI::App& app, Line& line) {
  CLI::App* command =
      app.add_subcommand("explain", "Show the plan of a transcode without doing it");
  command->footer(kExplainFooter);
  command->add_option("IN", line.explain.input, "Source file")->required()->type_name("");
  AddTargetOptions(*command, line.explain_target);
  AddJobOptions(*command, line.explain);
}

void AddServe(CLI::App& app, Line& line) {
  CLI::App* command = app.add_subcommand("serve", "Serve a folder of movies over HTTP");
  command->footer(kServeFooter);
  ServeArgs& args = line.serve;
  for (const Setting& setting : Settings()) {
    if (setting.flag.empty()) continue;
    const auto keep = [&args, flag = std::string(setting.flag)](const std::string& value) {
      args.flags.emplace_back(flag, value);
    };
    CLI::Option* option = command->add_option_function<std::string>(
        std::string(setting.flag), keep, OptionText(setting.meaning, setting.accepted));
    option->type_name("");
    if (setting.repeatable) option->join(' ');
  }
  command->add_option("--config", args.config_file, "JSON file with settings")
      ->type_name("FILE")
      ->check([](const std::string& path) {  // else a variable that is not set left the file out
        return path.empty() ? std::string("it names no file") : std::string();
      });
  command
      ->add_option("--record", args.record,
                   "Write arrivals and costs of all units, for bench --trace and simulate --trace")
      ->type_name("FILE");
  command->add_flag("--print-config", args.print_config,
                    "Print all settings and where each came from, then end");
}

void AddTopology(CLI::App& app, Line& line) {
  CLI::App* command = app.add_subcommand("topology", "Show the machine as the scheduler sees it");
  command->footer(kTopologyFooter);
  TopologyArgs& args = line.topology;
  const bench::MoveOptions standard;
  args.movie = standard.movie;
  args.repeats = standard.repeats;
  command->add_option("--json", args.json, "Write it as JSON; - is stdout")->type_name("FILE|-");
  CLI::Option* const measure = command->add_flag(
      "--measure", args.measure, "Measure what moving a stream to another CPU costs");
  command
      ->add_option("--movie", args.movie,
                   "What is moved; in a checkout a bundled movie unless given")
      ->type_name("FILE")
      ->needs(measure);
  command
      ->add_option("--repeat,--repeats", args.repeats,
                   "Samples of each pair of CPUs; 20 unless given")
      ->type_name("N")
      ->transform(WholeNumber(1, bench::kMaxMoveRepeats))
      ->needs(measure);
}

// Sets every parameter; the answer names all that are wrong.
std::optional<TextAnswer> SetTarget(const std::string& command, const TargetOptions& target,
                                    TargetRequest& request) {
  std::string wrong;
  for (const auto& [name, value] : target.values) {
    const Status status = SetParam(request, name, value);
    if (status.ok()) continue;
    if (!wrong.empty()) wrong += "\n";
    wrong += status.error().ToString();
  }
  if (wrong.empty()) return std::nullopt;
  return TextAnswer{kUsage, Complaint(command, wrong)};
}

CommandLine FinishTranscode(Line& line) {
  TranscodeArgs& args = line.transcode;
  if (auto wrong = SetTarget("transcode", line.transcode_target, args.request)) return *wrong;
  if (args.output == "-" && args.json == "-") {
    return TextAnswer{kUsage, Complaint("transcode", "OUT and --json cannot both be stdout.")};
  }
  if (!args.request.container) {
    const auto container = ContainerOfName(args.output);
    if (!container.ok()) {
      return TextAnswer{kUsage, Complaint("transcode", container.error().ToString())};
    }
    args.request.container = *container;
  }
  return args;
}

// What a presentation takes is checked where it is planned.
CommandLine FinishPackage(Line& line) {
  PackageArgs& args = line.package;
  for (const auto& [name, value] : line.package_target.values)
    args.params.emplace_back(name, value);
  return args;
}

CommandLine FinishExplain(Line& line) {
  if (auto wrong = SetTarget("explain", line.explain_target, line.explain.request)) return *wrong;
  return line.explain;
}

// Of the options, or of what is given without their names.
std::vector<std::string> NamesOf(const CLI::App& command, bool positional) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() == positional) names.push_back(option->get_name());
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The library stops at the first thing it misses. What it did not know comes first: where a name is
// mistyped, that is the mistake.
TextAnswer Answer(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  if (app.exit(error, out, err) == 0) return {kOk, out.str()};
  const std::vector<std::string> before = app.remaining();
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    return {kUsage,
            Complaint("", NoSuchCommand(before.empty() ? "" : before.front(), CommandNames(app)))};
  }
  const CLI::App& command = *chosen.front();
  if (!before.empty()) {
    return {kUsage, Complaint("", "'" + before.front() + "' stands in front of the command: '" +
                                      command.get_name() + "' comes first.")};
  }
  std::vector<std::string> left_over = command.remaining();
  std::erase(left_over, "--");
  const bool named = std::ranges::any_of(left_over, IsOption) ||
                     dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string text =
      named ? NotTaken(left_over, NamesOf(command, false), NamesOf(command, true)) : error.what();
  return {kUsage, Complaint(command.get_name(), text)};
}

}  // namespace

CommandLine ParseCommandLine(const std::vector<std::string>& args) {
  CLI::App app("Transcodes video on all cores at once, on the command line and over HTTP.",
               "gopmill");
  app.set_version_flag("--version", "gopmill " + BuildVersion());
  app.footer(kMainFooter);
  app.require_subcommand(1);
  Line line;
  AddTranscode(app, line);
  AddPackage(app, line);
  AddExplain(app, line);
  AddServe(app, line);
  AddTopology(app, line);
  AddBench(app, line.bench);
  AddSimulate(app, line.simulate);
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return Answer(app, error);
  }
  if (app.got_subcommand("transcode")) return FinishTranscode(line);
  if (app.got_subcommand("package")) return FinishPackage(line);
  if (app.got_subcommand("explain")) return FinishExplain(line);
  if (app.got_subcommand("serve")) return line.serve;
  if (app.got_subcommand("bench")) {
    line.bench.line = args;
    return line.bench;
  }
  if (app.got_subcommand("simulate")) return line.simulate;
  return line.topology;
}

Result<Container> ContainerOfName(const std::string& output) {
  if (output == "-") return Container::kMp4;
  const std::string extension = ExtensionOf(output);
  if (extension == "mp4" || extension == "m4v") return Container::kMp4;
  if (extension == "ts") return Container::kTs;
  if (extension == "mkv") return Container::kMkv;
  if (extension == "webm") return Container::kWebm;
  return InvalidArgument("container", "The name of the output does not tell its container.",
                         "a name ending in .mp4, .m4v, .ts, .mkv or .webm, or --container");
}

}  // namespace gopmill::cli
