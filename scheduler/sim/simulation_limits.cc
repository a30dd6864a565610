// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gopmill::sim {
namespace {

// Three years. The clock counts nanoseconds and could go on for 90 times as long.
constexpr double kMaxClockMs = 1e11;
constexpr double kMaxShareCells = 2e7;  // steps of windows, each with a sum of every class
constexpr double kMaxDecisionUs = 1e6;

double GreatestRatio(const CommRatios& ratios) {
  if (ratios.matrix.empty()) return ratios.levels.machine;  // none of a closer level is above it
  return *std::ranges::max_element(ratios.matrix);
}

// No run ends later than this: one worker does everything in the dearest way.
double LatestEndMs(const SimulationParams& params, double ratio, const Workload& workload) {
  const CostParams& cost = params.cost;
  double last_ms = 0;
  double work_ms = params.decision_us * 1e-3 * static_cast<double>(workload.units.size());
  for (const SimUnit& unit : workload.units) {
    last_ms = std::max(last_ms, unit.arrival_ms);
    work_ms += unit.hot_ms * (1 + cost.memory_share * (ratio - 1)) + unit.open_ms + cost.refill_ms +
               cost.switch_ms;
  }
  for (const SimStream& stream : workload.streams) last_ms = std::max(last_ms, stream.begin_ms);
  for (const WorkerChange& change : params.changes) last_ms = std::max(last_ms, change.at_ms);
  return last_ms + work_ms;
}

}  // namespace

Status CheckParams(const SimulationParams& params, const Machine& machine,
                   const Workload& workload) {
  GOPMILL_RETURN_IF_ERROR(ValidateCostParams(params.cost));
  // Workers that share a PU would each have to be slower; the server shares PUs, this does not.
  const int pus = machine.topology.pu_count();
  if (params.workers < 0 || params.workers > pus) {
    return InvalidArgument("workers",
                           fmt::format("The machine has {} PUs; workers do not share any.", pus),
                           fmt::format("0 (one per PU) to {}", pus));
  }
  if (params.run_queue_units < 0) {
    return InvalidArgument("queue", "A run queue cannot hold fewer than 0 units.",
                           "0 (no bound) or more");
  }
  if (!(params.decision_us >= 0 && params.decision_us <= kMaxDecisionUs)) {
    return InvalidArgument("decision-us", "A decision cannot take that long.",
                           fmt::format("0 to {:.0f}", kMaxDecisionUs));
  }
  GOPMILL_RETURN_IF_ERROR(CheckOutages(params.changes, params.workers > 0 ? params.workers : pus));
  GOPMILL_RETURN_IF_ERROR(ValidateClasses(workload.classes));
  GOPMILL_RETURN_IF_ERROR(
      CheckGuarantees(workload.classes, params.workers > 0 ? params.workers : pus));
  if (workload.units.empty() || workload.streams.empty()) {
    return InvalidArgument("workload", "The workload is empty.", "at least one unit");
  }
  return OkStatus();
}

Status CheckLength(const SimulationParams& params, const CommRatios& ratios,
                   const Workload& workload) {
  const double end_ms = LatestEndMs(params, GreatestRatio(ratios), workload);
  if (!(end_ms <= kMaxClockMs)) {
    return InvalidArgument("workload", "It takes too long to be simulated.",
                           fmt::format("arrivals and work of {:g} ms in all", kMaxClockMs));
  }
  const auto classes = static_cast<double>(workload.classes.size());
  if (classes < 2) return OkStatus();
  const double least_ms = end_ms * ShareMetrics::kStepsPerWindow * classes / kMaxShareCells;
  if (params.share_window_ms >= least_ms) return OkStatus();
  return InvalidArgument("share-window-ms", "That makes too many windows.",
                         fmt::format("at least {:g}", std::ceil(least_ms)));
}

}  // namespace gopmill::sim
