// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "scheduler/dispatcher.h"
#include "scheduler/policy_registry.h"
#include "scheduler/sim/simulation_limits.h"
#include "scheduler/sim/simulation_run.h"
#include "scheduler/worker_layout.h"

namespace gopmill::sim {
namespace {

// A matrix is over PUs; policies want it over workers.
CommRatios RatiosOfWorkers(const Machine& machine, const std::vector<int>& worker_pus) {
  CommRatios ratios = machine.ratios;
  if (ratios.matrix.empty()) return ratios;
  ratios.matrix.clear();
  const auto pus = static_cast<std::size_t>(machine.topology.pu_count());
  for (const int a : worker_pus) {
    for (const int b : worker_pus) {
      ratios.matrix.push_back(
          machine.ratios.matrix[static_cast<std::size_t>(a) * pus + static_cast<std::size_t>(b)]);
    }
  }
  return ratios;
}

// What stopped short has no makespan, and would look fast.
Status CheckAllWasRun(const SimResult& result, const Workload& workload) {
  if (result.units == workload.units.size()) return OkStatus();
  return Error{.code = Code::kInternal,
               .message = fmt::format("{} of {} units were never run: they wait and nobody works.",
                                      workload.units.size() - result.units, workload.units.size())};
}

}  // namespace

Result<SimResult> Simulate(const SimulationParams& params, const Machine& machine,
                           const Workload& workload) {
  GOPMILL_RETURN_IF_ERROR(CheckParams(params, machine, workload));
  const int count = params.workers > 0 ? params.workers : machine.topology.pu_count();
  const std::vector<int> worker_pus = LayOutWorkers(machine.topology, count);
  PolicyOptions options = params.options;
  if (!params.own_ratios) options.ratios = RatiosOfWorkers(machine, worker_pus);
  GOPMILL_RETURN_IF_ERROR(CheckLength(params, options.ratios, workload));
  options.contexts_per_worker = std::max(1, params.cost.contexts);
  options.classes = workload.classes;
  auto pool = std::make_unique<PoolState>(
      machine.topology, worker_pus,
      PoolState::Params{.run_queue_units = params.run_queue_units, .options = options});
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy,
                           params.make_policy ? params.make_policy(options, *pool)
                                              : MakePolicy(params.policy, options, *pool));
  auto dispatcher = std::make_unique<Dispatcher>(std::move(pool), std::move(policy), &SteadyNow);
  auto cost = params.make_cost_model
                  ? params.make_cost_model(count)
                  : std::make_unique<CodecCostModel>(params.cost, machine.topology, options.ratios,
                                                     worker_pus);
  SimulationRun run(params, workload, std::move(dispatcher), std::move(cost), count);
  GOPMILL_ASSIGN_OR_RETURN(SimResult result, run.Run(params.policy, params.stop));
  GOPMILL_RETURN_IF_ERROR(CheckAllWasRun(result, workload));
  return result;
}

}  // namespace gopmill::sim
