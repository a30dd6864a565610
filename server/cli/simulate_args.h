// SPDX-License-Identifier: Apache-2.0
//
// The options of `gopmill simulate`.
//
// Thread-safety: safe (plain values).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace gopmill::cli {

struct SimulateArgs {
  // Parameters of the experiment by name, as given ({"streams", "40"}).
  std::vector<std::pair<std::string, std::string>> params;
  std::string scheduler = "all";
  std::string trace;  // implies the workload "trace"
  std::vector<std::string> sweeps;
  std::uint64_t seed = 1;
  std::string reproduce;            // name of a claim, "all", or empty for none
  std::string scale;                // folder for CSV and charts, empty for none
  std::string check;                // policy, empty for none
  std::string against = "h-cahrw";  // its rival
  int seeds = 5;                    // runs of each of its points
  std::string json, csv;            // files, "-" for stdout, empty for none
  bool list = false, validate = false;
  bool timing = false;  // real time, in JSON, CSV and charts
};

// Adds the subcommand; what it is given ends up in `args`, which must outlive `app`.
void AddSimulate(CLI::App& app, SimulateArgs& args);

}  // namespace gopmill::cli
