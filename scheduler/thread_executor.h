// SPDX-License-Identifier: Apache-2.0
//
// The executor of this process: one thread per worker, each pinned to its PU.
//
// Guarantees: a worker is in its place before Launch returns, and its place is verified by reading
// the affinity mask back; a pin that fails is reported in Placements, not an error (a container may
// forbid it, and the work gets done all the same). Tickets of a worker run one at a time in the
// order of Start.
//
// Thread-safety: safe after Launch; Launch and Stop belong to the owner.
#pragma once

#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "scheduler/executor.h"
#include "scheduler/scheduler.h"

namespace gopmill {

class ThreadExecutor final : public Executor {
 public:
  struct Params {
    std::vector<int> pu_os_indices;  // by worker
    bool pin = true;
    WorkerLocalFactory make_local;  // may be empty
  };
  explicit ThreadExecutor(Params params);
  ~ThreadExecutor() override;

  Status Launch(ExecutorListener& listener) override;
  void Start(WorkerId worker, Ticket ticket) override;
  void Wake(WorkerId worker) override;
  std::optional<Ticket> TryRecall(WorkerId worker, UnitId unit) override;
  void Stop() override;
  [[nodiscard]] WorkerTimes Times(WorkerId worker) const override;
  [[nodiscard]] std::vector<WorkerPlacement> Placements() const override;

 private:
  class Worker;
  const Params params_;
  std::unique_ptr<std::latch> in_place_;  // counts the workers that have taken their place
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace gopmill
