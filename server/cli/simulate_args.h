// SPDX-License-Identifier: Apache-2.0
//
// The options of `gopmill simulate`.
//
// Thread-safety: safe (plain values).
#pragma once

#include <cstdint>
#include <optional>
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
  std::optional<std::string> scheduler;  // none = all
  std::string trace;                     // implies the workload "trace"
  std::vector<std::string> sweeps;
  std::optional<std::uint64_t> seed;  // none = 1
  std::string reproduce;              // name of a claim, "all", or empty for none
  std::string scale;                  // folder for CSV and charts, empty for none
  std::string check;                  // policy, empty for none
  std::string against = "h-cahrw";    // its rival
  std::optional<int> seeds;           // runs of each of its points; none = 5
  std::string json, csv;              // files, "-" for stdout, empty for none
  bool list = false, validate = false;
  bool timing = false;  // real time, in JSON, CSV and charts
};

// Adds the subcommand; what it is given ends up in `args`, which must outlive `app`.
void AddSimulate(CLI::App& app, SimulateArgs& args);

}  // namespace gopmill::cli
