// SPDX-License-Identifier: Apache-2.0
//
// The options of `gopmill bench`.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gopmill::cli {

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

// Adds the subcommand; what it is given ends up in `args`, which must outlive `app`.
void AddBench(CLI::App& app, BenchArgs& args);

}  // namespace gopmill::cli
