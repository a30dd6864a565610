// SPDX-License-Identifier: Apache-2.0
//
// What each subcommand does. Each returns the exit code (exit_codes.h) and has told the user on
// stderr whatever went wrong.
//
// Thread-safety: call one of them, once, from main, before any thread has been started.
#pragma once

#include "server/cli/command_line.h"

namespace gopmill::cli {

int RunTranscode(const TranscodeArgs& args);
int RunPackage(const PackageArgs& args);
int RunExplain(const ExplainArgs& args);
int RunServe(const ServeArgs& args);
int RunBench(const BenchArgs& args);
int RunTopology(const TopologyArgs& args);
int RunSimulate(const SimulateArgs& args);

}  // namespace gopmill::cli
