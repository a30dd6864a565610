// SPDX-License-Identifier: Apache-2.0
#include "server/cli/simulate_args.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "scheduler/sim/experiment.h"
#include "server/cli/whole_number.h"

namespace gopmill::cli {
namespace {

constexpr const char* kFooter =
    "Runs the policies of the server on a virtual clock. The same seed gives the same figures on\n"
    "any machine, and the same bytes of JSON and CSV (not with --timing).\n\n"
    "Examples:\n"
    "  gopmill simulate --list\n"
    "  gopmill simulate --validate\n"
    "  gopmill simulate --check p-llf --against fifo --sweep pus=8,64 --sweep contexts=1,4\n"
    "  gopmill simulate --topology chiplet --scheduler fifo,h-cahrw --streams 200\n"
    "  gopmill simulate --arrivals poisson --sweep load=0.5:1:0.1 --csv load.csv\n"
    "  gopmill simulate --trace day.trace --topology e5335";

void AddExperiment(CLI::App& command, SimulateArgs& args) {
  command.add_option("--scheduler", args.scheduler, "Policies: all, or names separated by commas")
      ->type_name("A,B,...");
  for (const sim::ExperimentParam& param : sim::ExperimentParams()) {
    const auto keep = [&args, name = std::string(param.name)](const std::string& value) {
      args.params.emplace_back(name, value);
    };
    const std::string value = sim::DefaultOf(param.name);
    command
        .add_option_function<std::string>("--" + std::string(param.name), keep,
                                          std::string(param.meaning) + ": " +
                                              std::string(param.accepted) +
                                              (value.empty() ? "" : "; " + value + " unless given"))
        ->type_name("")
        ->group("Experiment");
  }
  command.add_option("--trace", args.trace, "Simulate a recording of serve or bench --record")
      ->type_name("FILE");
  const auto keep_seed = [&args](const std::string& text) { args.seed = std::stoull(text); };
  command
      .add_option_function<std::string>("--seed", keep_seed,
                                        "Names the random numbers; 1 unless given")
      ->type_name("N")
      ->check(WholeNumber(0, 4294967295));
  command
      .add_option("--sweep", args.sweeps,
                  "NAME=FROM:TO:STEP or NAME=VALUE,... (classes, outages, scheduler-options:\n"
                  "A|B|...); several make a grid; also pus (pus=N is chiplet:N), and seed: the\n"
                  "table then has means over the seeds, with intervals")
      ->type_name("AXIS");
  command.add_option("--json", args.json, "Write the results as JSON; - is stdout")
      ->type_name("FILE|-");
  command.add_option("--csv", args.csv, "Write the results as CSV; - is stdout")
      ->type_name("FILE|-");
  command.add_flag(
      "--timing", args.timing,
      "Into these and the files of --scale, also the time decisions took (real clock)");
}

// One of these, or none.
void AddStudies(CLI::App& command, SimulateArgs& args) {
  CLI::App* studies = command.add_option_group("Studies", "Instead of one experiment");
  studies->add_flag("--list", args.list,
                    "Print policies, their options, topologies, mixes and claims, then end");
  CLI::Option* check = studies->add_option(
      "--check", args.check,
      "Compare a policy with another one: over machines, spreads, contexts and\n"
      "loads, or over what --sweep says; the mix is mixed unless given");
  check->type_name("NAME");
  studies
      ->add_option("--reproduce", args.reproduce,
                   "Published claims beside simulated figures: all, or a name that --list prints")
      ->type_name("CLAIM");
  studies
      ->add_option("--scale", args.scale,
                   "1 to 4,096 PUs and 1 to 10,000 streams; writes scale.csv and charts there")
      ->type_name("FOLDER");
  studies->add_flag("--validate", args.validate,
                    "Compare the simulator with known results; exit code 1 if one is missed");
  studies->require_option(0, 1);
  command.add_option("--against", args.against, "The other policy of --check; h-cahrw")
      ->type_name("NAME")
      ->needs(check);
  const auto keep_seeds = [&args](const std::string& text) { args.seeds = std::stoi(text); };
  command
      .add_option_function<std::string>(
          "--seeds", keep_seeds,
          "Runs of --check at each point, of seeds from 1000 + --seed on, which the\n"
          "policies' constants were not chosen on; 2 to 100, default 5")
      ->type_name("N")
      ->check(WholeNumber(2, 100))
      ->needs(check);
}

}  // namespace

void AddSimulate(CLI::App& app, SimulateArgs& args) {
  CLI::App* command =
      app.add_subcommand("simulate", "Compare policies on machines you do not have");
  command->footer(kFooter);
  AddExperiment(*command, args);
  AddStudies(*command, args);
}

}  // namespace gopmill::cli
