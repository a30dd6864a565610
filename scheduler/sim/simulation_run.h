// SPDX-License-Identifier: Apache-2.0
//
// One run of the simulator (simulation.h): workers and streams on a virtual clock, and what each
// event does to them. An event is an arrival, the end of a unit, the dispatcher that has got to
// something, or a worker that leaves or comes back; of those at one time changes of workers are
// first and arrivals last, so a run depends on nothing else.
//
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/dispatcher.h"
#include "scheduler/sim/arrival_order.h"
#include "scheduler/sim/serial_dispatcher.h"
#include "scheduler/sim/simulation.h"

namespace gopmill::sim {

class SimulationRun {
 public:
  SimulationRun(const SimulationParams& params, const Workload& workload,
                std::unique_ptr<Dispatcher> dispatcher, std::unique_ptr<CostModel> cost,
                int workers);

  Result<SimResult> Run(const std::string& policy, const std::stop_token& stop);

 private:
  static constexpr int kDispatcher = -1;

  struct Completion {
    TimePoint at;
    std::uint64_t sequence = 0;  // equal times: in the order in which they began
    int worker = 0;              // or kDispatcher
    bool operator>(const Completion& other) const {
      return std::pair(at, sequence) > std::pair(other.at, other.sequence);
    }
  };
  struct Worker {
    std::deque<Ticket> inbox;
    std::unique_ptr<Ticket> running;
    TimePoint began;
    double busy_ms = 0;
    bool available = true;
    bool is_idle = true, is_out = false;  // as counted; out: not available, and has ended its unit
    TimePoint out_since;
    double out_ms = 0;  // before
  };
  struct StreamState {
    std::uint32_t submitted = 0;
    std::uint32_t finished = 0;
    int last_worker = -1;
  };

  // --- Feeding ---------------------------------------------------------------------------------
  void StartStreams();
  void OpenNextStream();
  void OpenStream(std::uint32_t stream);
  void Submit(std::uint32_t s);
  [[nodiscard]] JobSpec SpecOf(std::uint32_t s, std::uint32_t index, const SimUnit& unit) const;
  // Its own; else when its class says, as in the server.
  [[nodiscard]] TimePoint DeadlineOf(const SimStream& stream, const SimUnit& unit,
                                     TimePoint submitted) const;

  // --- The event loop --------------------------------------------------------------------------
  bool StepOnce();
  // At equal times before all else. Behind the last unit nobody looks.
  [[nodiscard]] bool ChangeIsNext(const ArrivalOrder::Arrival* arrival) const;
  void Change(const WorkerChange& change);
  // After each change of whether it is available or runs something.
  void Count(Worker& worker);
  void Finish(int index);
  // What the end of a unit lets in under a closed feed.
  void Continue(std::uint32_t s);
  void CountDeadline(TimePoint deadline);
  void BeginNext(int index);

  // --- The dispatcher --------------------------------------------------------------------------
  void Step(DispatcherEvent event);
  void Dispatch();
  void Act(StartAction& action);
  void Act(RecallAction& action);
  static void Act(ReportAction& action);

  // --- The sum ---------------------------------------------------------------------------------
  SimResult Sum();
  void AddTimes(SimResult& result);
  // How long a worker has been out since `out_since`, of the time that is measured.
  [[nodiscard]] double OutMillis(const Worker& worker) const;
  // Of all workers together, to the end.
  [[nodiscard]] double OutMillis() const;

  const Workload& workload_;
  SerialDispatcher dispatcher_;
  std::optional<TimePoint> awaited_;  // for when the dispatcher is on the list of completions
  std::vector<Worker> workers_;
  std::vector<StreamState> streams_;
  const std::vector<WorkerChange> changes_;
  std::size_t next_change_ = 0;
  std::size_t finished_ = 0;  // units
  const std::uint32_t window_;
  const double start_ms_;  // from then on it is measured
  std::size_t next_stream_ = 0;
  ArrivalOrder arrivals_;
  const std::unique_ptr<CostModel> cost_;
  TimePoint now_;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions_;
  std::uint64_t sequence_ = 0;

  OrderMetrics order_;
  IdleMetrics idle_;
  ShareMetrics shares_;
  double useful_ms_ = 0;
  double wait_ms_ = 0;
  double reload_ = 0;
  std::uint64_t cold_ = 0;
  std::uint64_t elsewhere_ = 0;
  std::uint64_t deadlines_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace gopmill::sim
