// SPDX-License-Identifier: Apache-2.0
//
// A dispatcher with workers that exist on a virtual clock only: every run takes a time worked out
// from the ticket, and the next completion is wherever the test wants to go on. Follows the
// protocol of executor.h to the letter, so that what passes here passes with threads.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/dispatcher.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

// Topology of a synthetic description; the test fails hard if it is malformed.
Topology SyntheticTopology(const std::string& description);

// The error of a result that should have failed; an empty one if it did not. By reference and not
// inlined: gcc 12 warns of null pointers when it sees the copy and std::variant together.
template <class T>
[[gnu::noinline]] const Error& ErrorOf(const Result<T>& result) {
  static const Error kNone;
  return result.ok() ? kNone : result.error();
}

struct VirtualPoolParams {
  std::string topology = "pack:1 core:4 pu:1";
  int workers = 0;  // 0 = one per PU
  std::string policy = "h-cahrw";
  int run_queue_units = 2;
  PolicyOptions options = {};
  // A policy of the test's own instead of `policy`.
  std::function<std::unique_ptr<Policy>(const PoolState&)> make_policy = {};
};

class VirtualPool {
 public:
  explicit VirtualPool(const VirtualPoolParams& params);

  void Submit(std::uint64_t stream, std::int64_t index, std::size_t bytes = 1000);
  void Cancel(std::uint64_t stream);
  void Shutdown();
  void SetAvailable(int worker, bool available);
  // Goes to the next completion. False if nothing runs.
  bool FinishNext();
  // Finishes all that ends until then, and goes on to that time.
  void FinishUntil(TimePoint time);
  // Finishes what this worker is busy with, whoever would be next.
  void FinishOn(int worker);
  void FinishAll() {
    while (FinishNext()) {
    }
  }

  // Behaviour of the workers; replace as needed.
  std::function<Duration(const Ticket&)> service_time = [](const Ticket&) {
    return std::chrono::milliseconds(10);
  };
  // On top of it, reported as such; none is a warm run.
  std::function<Duration(const Ticket&)> opening_time = [](const Ticket&) { return Duration{}; };
  std::function<JobOutcome(const Ticket&)> outcome = [](const Ticket&) {
    return JobOutcome::kDone;
  };
  // Fills in what Submit does not say: class, deadline, context, frames.
  std::function<void(JobSpec&)> complete_spec = [](JobSpec&) {};
  // Called for every assignment, after it took effect.
  std::function<void(UnitId, WorkerId worker, WorkerId home)> on_assigned;
  // Called for every run that ended.
  std::function<void(const JobReport&)> on_run;

  struct Assignment {
    UnitId unit;
    int worker = -1;
    int home = -1;
    TimePoint at;
  };
  // In the order in which they happened.
  [[nodiscard]] const std::vector<Assignment>& assignments() const { return assignments_; }
  [[nodiscard]] const std::vector<JobReport>& reports() const { return *reports_; }
  // The worker that the unit was last assigned to; -1 if it never was.
  [[nodiscard]] int WorkerOf(std::uint64_t stream, std::int64_t index) const;
  // Reports of one unit.
  [[nodiscard]] std::vector<JobReport> ReportsOf(std::uint64_t stream, std::int64_t index) const;
  [[nodiscard]] int runs(UnitId unit) const;
  [[nodiscard]] bool busy(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].running.has_value();
  }
  [[nodiscard]] int busy_workers() const;
  [[nodiscard]] int worker_count() const { return static_cast<int>(workers_.size()); }
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] Dispatcher& dispatcher() { return *dispatcher_; }
  [[nodiscard]] const PoolState& pool() const { return dispatcher_->pool(); }

 private:
  struct VirtualWorker {
    std::deque<Ticket> inbox;
    std::optional<Ticket> running;
    TimePoint done_at;
  };
  void Step(DispatcherEvent event);
  void Act(StartAction& action);
  void Act(RecallAction& action);
  void Act(ReportAction& action);
  void BeginNext(VirtualWorker& worker);
  [[nodiscard]] int NextDone() const;  // the worker; -1 if nothing runs

  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<VirtualWorker> workers_;
  TimePoint now_;
  std::vector<Assignment> assignments_;
  std::shared_ptr<std::vector<JobReport>> reports_ = std::make_shared<std::vector<JobReport>>();
  std::map<UnitId, int> runs_;
  std::map<std::uint64_t, std::uint64_t> stream_numbers_;
};

}  // namespace gopmill
