// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gopmill::sim {

CodecCostModel::CodecCostModel(const CostParams& params, const Topology& topology,
                               const CommRatios& ratios, std::span<const int> worker_pus)
    : params_(params),
      topology_(topology),
      ratios_(ratios),
      worker_pus_(worker_pus.begin(), worker_pus.end()),
      workers_(worker_pus.size()) {}

RunCost CodecCostModel::Begin(const RunRequest& request) {
  Worker& worker = workers_[static_cast<std::size_t>(request.worker)];
  RunCost cost;
  cost.total_ms = request.hot_ms;
  if (request.last_worker >= 0) {
    const double ratio = Ratio(request.last_worker, request.worker);
    cost.total_ms += request.hot_ms * params_.memory_share * (ratio - 1);
  }
  cost.total_ms += TouchContext(worker, request, cost);
  if (worker.service_class >= 0 && worker.service_class != request.service_class) {
    cost.total_ms += params_.switch_ms;
  }
  worker.service_class = request.service_class;
  worker.busy_ms += cost.total_ms;
  // The gap of this context starts when this run ends.
  if (!worker.contexts.empty()) worker.contexts.front().busy_at_use_ms = worker.busy_ms;
  return cost;
}

double CodecCostModel::TouchContext(Worker& worker, const RunRequest& request, RunCost& cost) {
  auto& contexts = worker.contexts;
  const auto found = std::ranges::find(contexts, request.context, &WarmContext::key);
  cost.cold = found == contexts.end();
  if (!cost.cold) {
    const double away_ms = worker.busy_ms - found->busy_at_use_ms;
    std::rotate(contexts.begin(), found, found + 1);
    cost.reload = DisplacedShare(params_.cache, params_.references, away_ms);
    return params_.refill_ms * cost.reload;
  }
  cost.reload = 1;
  if (params_.contexts > 0) {
    if (contexts.size() == static_cast<std::size_t>(params_.contexts)) contexts.pop_back();
    contexts.push_back({request.context, 0});
    std::rotate(contexts.begin(), contexts.end() - 1, contexts.end());
  }
  // Measured openings have the cache read again in them; without any that is what is left.
  return std::max(request.open_ms, params_.refill_ms);
}

bool CodecCostModel::IsWarm(int worker, std::uint64_t context) const {
  const auto& contexts = workers_[static_cast<std::size_t>(worker)].contexts;
  return std::ranges::find(contexts, context, &WarmContext::key) != contexts.end();
}

double CodecCostModel::Ratio(int from, int to) const {
  if (from == to) return 1;
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  if (!ratios_.matrix.empty()) return ratios_.matrix[a * workers_.size() + b];
  if (worker_pus_[a] == worker_pus_[b]) return ratios_.levels.pu;
  return ratios_.levels.At(topology_.ClosestCommon(worker_pus_[a], worker_pus_[b]));
}

Status ValidateCostParams(const CostParams& params) {
  const auto within = [](double value, double high) {
    return std::isfinite(value) && value >= 0 && value <= high;
  };
  if (params.contexts < 0 || params.contexts > kMaxContexts) {
    return InvalidArgument("contexts", "The number of warm contexts is out of range.",
                           fmt::format("0 to {}", kMaxContexts));
  }
  if (!within(params.memory_share, 1)) {
    return InvalidArgument("memory-share", "The memory share is out of range.", "0 to 1");
  }
  if (!within(params.refill_ms, 1e6) || !within(params.switch_ms, 1e6)) {
    return InvalidArgument(within(params.refill_ms, 1e6) ? "switch-ms" : "refill-ms",
                           "The cost is out of range.", "0 to 1000000 milliseconds");
  }
  return OkStatus();
}

}  // namespace gopmill::sim
