// SPDX-License-Identifier: Apache-2.0
//
// What it costs to receive a packet on a multiprocessor, from measured times: what a packet finds
// in the caches depends on where its session and the protocol's lookup history were last written,
// and on how long other work has run on the processor. Published results of this model are what the
// simulator is validated against.
//
// Source: J. D. Salehi, J. F. Kurose, D. Towsley, "The Effectiveness of Affinity-Based Scheduling
// in Multiprocessor Network Protocol Processing (Extended Version)", IEEE/ACM ToN 4(4), 1996:
// tables 1 and 2 and section 4. Of its constants these are two parallelizations x six cases x
// first-level cache hot or cold (12 pairs), and two wholly cold times: thread stacks are kept to
// their processors and each of these has free memory of its own.
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

class ProtocolCostModel final : public CostModel {
 public:
  ProtocolCostModel(Parallelization parallelization, int processors);
  RunCost Begin(const RunRequest& request) override;

 private:
  // Microseconds with both caches hot, and with the first one cold.
  struct Times {
    double hot = 0;
    double cold = 0;
  };
  [[nodiscard]] Times CaseOf(const RunRequest& request) const;

  const Parallelization parallelization_;
  std::vector<double> free_since_ms_;  // by processor: when it last ended protocol work
  std::vector<int> session_at_;        // by stream: the processor of its last packet
  std::int64_t last_stream_ = -1;      // whose packet wrote the lookup history last
  int history_at_ = -1;                // where
};

}  // namespace gopmill::sim
