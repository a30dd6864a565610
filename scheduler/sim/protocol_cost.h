// SPDX-License-Identifier: Apache-2.0
//
// What it costs to receive a packet on a multiprocessor, from 28 measured times: what a packet
// finds in the caches depends on where its session, the protocol's lookup history and the free
// memory were last written, and on how long other work has run on the processor. Published results
// of this model are what the simulator is validated against.
//
// Source: J. D. Salehi, J. F. Kurose, D. Towsley, "The Effectiveness of Affinity-Based Scheduling
// in Multiprocessor Network Protocol Processing (Extended Version)", IEEE/ACM ToN 4(4), 1996:
// tables 1 and 2 and section 4. The 28 constants: two parallelizations x six cases x thread stack
// cached or not x first-level cache hot or cold (24 pairs), two wholly cold times, and two for free
// memory.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/sim/cost_model.h"

namespace gopmill::sim {

enum class Parallelization {
  kLocking,            // one protocol stack; its lookup history is shared by all processors
  kIndependentStacks,  // a stack per stream; nothing is shared
};

struct ProtocolCostParams {
  Parallelization parallelization = Parallelization::kLocking;
  bool stack_migrates = false;      // thread stacks are not kept to their processors
  bool shared_free_memory = false;  // one pool for all processors instead of one each
};

class ProtocolCostModel final : public CostModel {
 public:
  ProtocolCostModel(const ProtocolCostParams& params, int processors);
  RunCost Begin(const RunRequest& request) override;

 private:
  // Microseconds with both caches hot, and with the first one cold.
  struct Times {
    double hot = 0;
    double cold = 0;
  };
  [[nodiscard]] Times CaseOf(const RunRequest& request) const;
  double FreeMemory(int processor);

  const ProtocolCostParams params_;
  std::vector<double> free_since_ms_;  // by processor: when it last ended protocol work
  std::vector<int> session_at_;        // by stream: the processor of its last packet
  std::int64_t last_stream_ = -1;      // whose packet wrote the lookup history last
  int history_at_ = -1;                // where
  int memory_at_ = -1;                 // processor that used the shared pool last
};

}  // namespace gopmill::sim
