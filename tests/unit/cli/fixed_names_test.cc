// SPDX-License-Identifier: Apache-2.0
//
// The names of options that others build on: scripts, papers, courses. They stay as they are, and
// mean what they mean here.
#include <gmock/gmock.h>

#include <functional>

#include "scheduler/sim/transcode_workload.h"
#include "server/bench/workload.h"
#include "server/cli/command_line.h"

namespace gopmill::cli {
namespace {

std::string ParamOf(const SimulateArgs& args, const std::string& name) {
  for (const auto& [key, value] : args.params) {
    if (key == name) return value;
  }
  return "not given";
}

std::string Text(bool value) { return value ? "yes" : "no"; }

using BenchValue = std::function<std::string(const BenchArgs&)>;
using SimulateValue = std::function<std::string(const SimulateArgs&)>;

template <class Value>
struct FixedName {
  std::vector<std::string> flags;
  Value value;
  std::string expected;
};

template <class Args, class Value>
void ExpectNames(const std::string& command, const std::vector<FixedName<Value>>& names) {
  for (const FixedName<Value>& name : names) {
    std::vector<std::string> line = {command};
    line.insert(line.end(), name.flags.begin(), name.flags.end());
    const CommandLine parsed = ParseCommandLine(line);
    const Args* const args = std::get_if<Args>(&parsed);
    ASSERT_NE(args, nullptr) << command << " " << name.flags[0];
    EXPECT_EQ(name.value(*args), name.expected) << command << " " << name.flags[0];
  }
}

TEST(FixedNames, OfBench) {
  const std::vector<FixedName<BenchValue>> names = {
      {{"--list"}, [](const BenchArgs& a) { return Text(a.list); }, "yes"},
      {{"--scheduler", "fifo,rr"}, &BenchArgs::schedulers, "fifo,rr"},
      {{"--streams", "7"}, [](const BenchArgs& a) { return std::to_string(a.streams); }, "7"},
      {{"--mix", "reference"}, &BenchArgs::mix, "reference"},
      {{"--mix", "modern"}, &BenchArgs::mix, "modern"},
      {{"--mix", "live"}, &BenchArgs::mix, "live"},
      {{"--mix", "bursty"}, &BenchArgs::mix, "bursty"},
      {{"--repeat", "3"}, [](const BenchArgs& a) { return std::to_string(a.repeats); }, "3"},
      {{"--repeats", "3"}, [](const BenchArgs& a) { return std::to_string(a.repeats); }, "3"},
      {{"--warm-up", "2"}, [](const BenchArgs& a) { return std::to_string(*a.warm_ups); }, "2"},
      {{"--queue", "0"}, [](const BenchArgs& a) { return std::to_string(a.queue); }, "0"},
      {{"--json", "f"}, &BenchArgs::json, "f"},
      {{"--json", "-"}, &BenchArgs::json, "-"},
      {{"--html", "f"}, &BenchArgs::html, "f"},
      {{"--trace", "f"}, &BenchArgs::trace, "f"},
      {{"--replay", "f"}, &BenchArgs::trace, "f"},
      {{"--perfetto", "f"}, &BenchArgs::perfetto, "f"},
      {{"--record", "f"}, &BenchArgs::record, "f"},
  };
  ExpectNames<BenchArgs>("bench", names);
}

SimulateValue Param(const std::string& name) {
  return [name](const SimulateArgs& args) { return ParamOf(args, name); };
}

TEST(FixedNames, OfSimulate) {
  const std::vector<FixedName<SimulateValue>> names = {
      {{"--list"}, [](const SimulateArgs& a) { return Text(a.list); }, "yes"},
      {{"--topology", "pack:2 core:4 pu:2"}, Param("topology"), "pack:2 core:4 pu:2"},
      {{"--topology", "machine.xml"}, Param("topology"), "machine.xml"},
      {{"--scheduler", "fifo,rr"},
       [](const SimulateArgs& a) { return a.scheduler.value_or("none"); },
       "fifo,rr"},
      {{"--workload", "transcode"}, Param("workload"), "transcode"},
      {{"--workload", "l7"}, Param("workload"), "l7"},
      {{"--mix", "reference"}, Param("mix"), "reference"},
      {{"--mix", "modern"}, Param("mix"), "modern"},
      {{"--mix", "live"}, Param("mix"), "live"},
      {{"--mix", "bursty"}, Param("mix"), "bursty"},
      {{"--streams", "7"}, Param("streams"), "7"},
      {{"--gops", "9"}, Param("gops"), "9"},
      {{"--seed", "5"},
       [](const SimulateArgs& a) { return std::to_string(a.seed.value_or(0)); },
       "5"},
      {{"--trace", "f"}, &SimulateArgs::trace, "f"},
      {{"--json", "f"}, &SimulateArgs::json, "f"},
      {{"--json", "-"}, &SimulateArgs::json, "-"},
  };
  ExpectNames<SimulateArgs>("simulate", names);
}

TEST(FixedNames, OfTheRecording) {
  const CommandLine line = ParseCommandLine({"serve", "--record", "f"});
  const auto* const args = std::get_if<ServeArgs>(&line);
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->record, "f");
}

TEST(FixedNames, OfTheMixesAreThoseOfBoth) {
  for (const bench::Mix& mix : bench::Mixes()) {
    const auto simulated = sim::FindMix(mix.name);
    ASSERT_TRUE(simulated.ok()) << mix.name;
    EXPECT_EQ((*simulated)->default_streams, mix.default_streams) << mix.name;
  }
}

}  // namespace
}  // namespace gopmill::cli
