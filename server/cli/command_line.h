// SPDX-License-Identifier: Apache-2.0
//
// The command line as values: what was asked, before anything is opened or started.
//
// Thread-safety: safe (pure function).
#pragma once

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
  int workers = 0;        // 0 = one per CPU
  std::string json;       // file for the report, "-" for stdout, empty for none
  std::string log_level;
};

struct TranscodeArgs : JobArgs {
  std::string output;  // path, or "-" for stdout
  bool force = false, quiet = false, verify = false;
};

struct ExplainArgs : JobArgs {};

struct ServeArgs {
  std::string config_file;
  std::vector<std::pair<std::string, std::string>> flags;  // {"--http-port", "8081"}
  bool print_config = false;
};

struct TopologyArgs {
  std::string json;
};

// The line asks for nothing but text: help, the version, or a complaint.
struct TextAnswer {
  int exit_code = 0;
  std::string text;  // to stdout when exit_code is 0, else to stderr
};

using CommandLine =
    std::variant<TextAnswer, TranscodeArgs, ExplainArgs, ServeArgs, TopologyArgs, SimulateArgs>;

// `args` without the name of the program.
CommandLine ParseCommandLine(const std::vector<std::string>& args);

// The container that the extension of an output stands for; kInvalidArgument naming "container"
// when there is none. "-" is MP4.
Result<Container> ContainerOfName(const std::string& output);

}  // namespace gopmill::cli
