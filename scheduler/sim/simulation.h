// SPDX-License-Identifier: Apache-2.0
//
// The simulator: the dispatcher and a policy of the registry, the same objects the server runs, on
// workers that exist on a virtual clock only.
//
//   arrivals --> Dispatcher::Step --> inbox of a worker --> cost model --> completion (heap) --+
//                     ^                                                                        |
//                     +------------------------------------------------------------------------+
//
// Guarantees: the same arguments give the same result on any machine (the real-time figures apart);
// no event looks at all workers. Inboxes follow executor.h: a worker goes on with its inbox without
// waiting for the dispatcher; what it has begun cannot be recalled.
//
// What it does not model: the time the dispatcher takes unless it is given (decision_us), memory
// bandwidth shared by workers, frequency and simultaneous multithreading, units that fail, several
// workers on one PU (refused).
//
// Thread-safety: Simulate is safe; it has no state.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "scheduler/policy.h"
#include "scheduler/policy_options.h"
#include "scheduler/sim/cost_model.h"
#include "scheduler/sim/metrics.h"
#include "scheduler/sim/outages.h"
#include "scheduler/sim/topology_presets.h"
#include "scheduler/sim/workload.h"

namespace gopmill::sim {

struct SimulationParams {
  std::string policy = "fifo";
  int workers = 0;          // 0 = one per PU; at most as many
  int run_queue_units = 2;  // as in the server; 0 = without bound
  double decision_us = 0;   // of the dispatcher, for a unit (serial_dispatcher.h); 0 to 1e6
  CostParams cost = {};
  // Another model in place of the one for codecs; it is made anew for each run.
  std::function<std::unique_ptr<CostModel>(int workers)> make_cost_model = {};
  // Another policy in place of that one of the registry. For tests.
  std::function<Result<std::unique_ptr<Policy>>(const PolicyOptions&, const PoolState&)>
      make_policy = {};
  std::vector<WorkerChange> changes = {};  // ascending by time (ParseOutages)
  PolicyOptions options = {};              // how many contexts comes from `cost`
  double share_window_ms = 10'000;         // for the share error
  // The communication ratios of `options` hold, for the policy and for what moving costs; otherwise
  // those of the machine.
  bool own_ratios = false;
  std::stop_token stop = {};
};

// Runs the workload to its end. Fails on unknown policies, on what a policy cannot serve, and when
// units are left that it never had anybody run; kCancelled if it was stopped.
Result<SimResult> Simulate(const SimulationParams& params, const Machine& machine,
                           const Workload& workload);

}  // namespace gopmill::sim
