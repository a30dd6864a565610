// SPDX-License-Identifier: Apache-2.0
//
// How long a worker needs for a unit: a pure function of the unit and of what the worker and the
// stream did before. The one for codecs is
//
//     t = t_hot * (1 + memory_share * (c[last][w] - 1))     c: communication ratio; last: the
//     worker
//                                                           of the unit of that stream before
//       + max(t_open, refill_ms) if the worker has no context for it (the least recently used ones
//                                are closed when there are more than `contexts`); t_open is
//                                measured with all that a cold start costs, the cache included
//       + F(x) * refill_ms       if it has; x = other work on it since; F: reload_transient.h
//       + switch_ms              if the unit before on that worker was of another class
//
// So t_cold - t_hot of the reload-transient model is split into what closing a context costs and
// what a displaced cache costs: they are very different here (milliseconds against tenths).
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/comm_ratios.h"
#include "scheduler/sim/reload_transient.h"
#include "scheduler/topology.h"

namespace gopmill::sim {

inline constexpr int kMaxContexts = 4096;

struct CostParams {
  int contexts = 4;            // warm contexts a worker keeps; 0 = none
  double memory_share = 0.02;  // of t_hot, what depends on where the stream's memory is
  double refill_ms = 0.2;      // reading a whole 2 MB L2 again
  double switch_ms = 0;
  CacheGeometry cache = {};
  ReferenceStream references = {};
};

// What one run costs, in milliseconds.
struct RunCost {
  double total_ms = 0;
  bool cold = false;  // a context was opened
  // Share of the cache that had to be read again, the proxy for cache misses.
  double reload = 0;
};

struct RunRequest {
  double now_ms = 0;
  std::uint32_t stream = 0;  // place in Workload::streams
  int worker = 0;
  int last_worker = -1;  // of the stream; -1: its first unit
  std::uint64_t context = 0;
  int service_class = 0;
  double hot_ms = 0;
  double open_ms = 0;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // The worker begins the unit now, and will have done it when the next one begins there.
  virtual RunCost Begin(const RunRequest& request) = 0;
};

class CodecCostModel final : public CostModel {
 public:
  // `worker_pus`: the PU of each worker. A ratio matrix is over workers.
  CodecCostModel(const CostParams& params, const Topology& topology, const CommRatios& ratios,
                 std::span<const int> worker_pus);

  RunCost Begin(const RunRequest& request) override;

  // Whether the worker has the context open.
  [[nodiscard]] bool IsWarm(int worker, std::uint64_t context) const;

 private:
  struct WarmContext {
    std::uint64_t key = 0;
    double busy_at_use_ms = 0;  // busy time of the worker when it was last used
  };
  struct Worker {
    std::vector<WarmContext> contexts;  // most recently used first
    double busy_ms = 0;
    int service_class = -1;
  };
  // The cost of context and cache; moves the context to the front.
  double TouchContext(Worker& worker, const RunRequest& request, RunCost& cost);
  [[nodiscard]] double Ratio(int from, int to) const;

  const CostParams params_;
  const Topology& topology_;
  const CommRatios ratios_;
  const std::vector<int> worker_pus_;
  std::vector<Worker> workers_;
};

// NaN, negative or absurd values are refused; the error names the option.
Status ValidateCostParams(const CostParams& params);

}  // namespace gopmill::sim
