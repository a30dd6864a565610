// SPDX-License-Identifier: Apache-2.0
//
// The seam between the dispatcher, which decides where a job runs, and whatever runs it: threads of
// this process now (thread_executor.h), sandboxed processes or other machines later.
//
// Protocol, per worker: Start puts a ticket at the end of the worker's inbox, and Wake follows; the
// worker takes them in order, one at a time. Each ticket ends in exactly one of three ways:
//   - it ran and that was final: the worker calls Job::OnReport itself (the submitter hears of it
//     without another hop through the dispatcher), destroys the job, and OnFinished carries no job;
//   - it ran, failed, and may be retried: OnFinished hands the job back, unreported;
//   - it was taken back by TryRecall before it began: no OnFinished.
//
// Thread-safety: safe after Launch; Launch and Stop belong to the owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/job.h"

namespace gopmill {

// One attempt at one job, on its way to a worker.
struct Ticket {
  std::unique_ptr<Job> job;
  JobReport report;        // filled in up to `assigned`; the worker completes it
  bool may_retry = false;  // a kFailed run goes back to the dispatcher instead of being reported
};

// Where the events of workers go.
class ExecutorListener {
 public:
  virtual ~ExecutorListener() = default;
  // A ticket ran. `job` is null when the worker has reported it (see above). Called on any thread;
  // must not block.
  virtual void OnFinished(const JobReport& report, std::unique_ptr<Job> job) = 0;
};

// Where one worker really is.
struct WorkerPlacement {
  WorkerId worker;
  int pu_os_index = -1;  // number of the PU as the operating system counts them
  bool pinned = false;   // the affinity mask was read back and holds that PU alone
  std::string warning;   // why not, when it was asked for and did not work; else empty
};

struct WorkerTimes {
  Duration busy{};  // inside jobs, what the one that runs has had so far included; never goes down
  std::optional<TimePoint> running_since;  // of the job that runs
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Starts the workers; returns when each one is in its place. Called once, before anything else.
  // `listener` must outlive Stop.
  virtual Status Launch(ExecutorListener& listener) = 0;
  // Appends to the worker's inbox. Never blocks; the bound on the inbox is the dispatcher's. A
  // worker that has nothing to do begins after Wake.
  virtual void Start(WorkerId worker, Ticket ticket) = 0;
  // Has the worker look into its inbox.
  virtual void Wake(WorkerId worker) = 0;
  // The ticket, if the unit was still in the worker's inbox. Nothing when it has begun, is already
  // finished, or the executor cannot tell: then OnFinished follows or has been sent.
  virtual std::optional<Ticket> TryRecall(WorkerId worker, UnitId unit) = 0;
  // Ends the workers after the tickets they hold. Idempotent.
  virtual void Stop() = 0;
  [[nodiscard]] virtual WorkerTimes Times(WorkerId worker) const = 0;
  // One entry per worker, in order of id. Valid after Launch.
  [[nodiscard]] virtual std::vector<WorkerPlacement> Placements() const = 0;
};

}  // namespace gopmill
