// SPDX-License-Identifier: Apache-2.0
//
// The command line as values: what was asked, before anything is opened or started.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "media/target.h"
#include "server/cli/simulate_args.h"

namespace gopmill::cli {

// What transcode and explain share: a source, a target and how it is spread over the workers.
struct JobArgs {
  std::string input;  // path, or "-" for stdin
  TargetRequest request;
  std::string scheduler;  // name of the policy
  std::string scheduler_options, classes;
  int workers = 0;   // 0 = one per CPU
  std::string json;  // file for the report, "-" for stdout, empty for none
  std::string log_level;
};

struct TranscodeArgs : JobArgs {
  std::string output;  // path, or "-" for stdout
  bool force = false, quiet = false, verify = false;
};

struct ExplainArgs : JobArgs {};

struct PackageArgs : JobArgs {
  std::string output;                                       // folder
  std::vector<std::pair<std::string, std::string>> params;  // as of /v1/hls; `request` is not used
  bool quiet = false;
};

struct ServeArgs {
  std::string config_file;
  std::vector<std::pair<std::string, std::string>> flags;  // {"--http-port", "8081"}
  bool print_config = false;
  std::string record;  // trace to write; empty for none
};

struct TopologyArgs {
  std::string json;
  bool measure = false;
  std::string movie;  // to measure with
  int repeats = 0;
};

struct BenchArgs {
  bool list = false, quick = false, audio = false;
  std::string schedulers = "all";  // names with commas between
  std::string baseline;            // of the ratios; empty = fifo where it runs, else the first
  std::string mix = "reference";
  std::string duration, unit = "gop", preset = "veryfast", crf, movies = "movies/files";
  std::string scheduler_options;             // NAME=VALUE,...; empty = the corrected forms
  std::string classes;                       // NAME:WEIGHT[...],...; empty for none
  std::string trace;                         // recording to run instead of a mix
  std::string json, html, perfetto, record;  // files to write
  int streams = 0, repeats = 0;              // 0 = as the mix and --quick say
  std::optional<int> warm_ups;               // runs; none = 1, of a trace 0
  int workers = 0;                           // 0 = one per CPU
  int queue = 2;                             // units in a run queue; 0 = without bound
  std::int64_t seed = 1;
  std::vector<std::string> line;  // the whole command line, for the report
};

// The line asks for nothing but text: help, the version, or a complaint.
struct TextAnswer {
  int exit_code = 0;
  std::string text;  // to stdout when exit_code is 0, else to stderr
};

using CommandLine = std::variant<TextAnswer, TranscodeArgs, PackageArgs, ExplainArgs, ServeArgs,
                                 TopologyArgs, SimulateArgs, BenchArgs>;

// `args` without the name of the program.
CommandLine ParseCommandLine(const std::vector<std::string>& args);

// The container that the extension of an output stands for; kInvalidArgument naming "container"
// when there is none. "-" is MP4.
Result<Container> ContainerOfName(const std::string& output);

}  // namespace gopmill::cli
