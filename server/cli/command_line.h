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
#include "server/cli/bench_args.h"
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
