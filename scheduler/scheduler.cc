// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include <utility>

#include "base/clock.h"
#include "scheduler/cgroup_quota.h"
#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "scheduler/scheduler_core.h"
#include "scheduler/worker_layout.h"

namespace gopmill {
namespace {

Status CheckOptions(const SchedulerOptions& options) {
  if (options.workers < 0 || options.workers > kMaxWorkers) {
    return InvalidArgument("workers", "The number of workers is out of range.",
                           "0 (one per CPU) to " + std::to_string(kMaxWorkers));
  }
  if (options.run_queue_units < 0) {
    return InvalidArgument("run_queue_units", "A run queue cannot hold fewer than 0 units.",
                           "0 (no bound) or more");
  }
  return OkStatus();
}

int WorkerCount(const SchedulerOptions& options, const Topology& topology) {
  return options.workers > 0 ? options.workers
                             : DefaultWorkerCount(topology, CgroupCpuQuota(CgroupPaths{}));
}

// The options with their texts applied.
Result<PolicyOptions> ResolveOptions(const SchedulerOptions& options, int workers) {
  PolicyOptions resolved = options.policy_options;
  GOPMILL_RETURN_IF_ERROR(ParsePolicyOptions(options.rules, workers, resolved));
  if (!options.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(resolved.classes, ParseClasses(options.classes));
  }
  GOPMILL_RETURN_IF_ERROR(ValidateClasses(resolved.classes));
  GOPMILL_RETURN_IF_ERROR(CheckGuarantees(resolved.classes, workers));
  return resolved;
}

// The parts that decide.
struct Decider {
  std::vector<int> worker_pus;  // by worker, index in topology.pus()
  std::unique_ptr<PoolState> pool;
  std::unique_ptr<Policy> policy;
};

Result<Decider> MakeDecider(const SchedulerOptions& options, const Topology& topology) {
  GOPMILL_RETURN_IF_ERROR(CheckOptions(options));
  Decider made{.worker_pus = LayOutWorkers(topology, WorkerCount(options, topology)),
               .pool = nullptr,
               .policy = nullptr};
  GOPMILL_ASSIGN_OR_RETURN(const PolicyOptions resolved,
                           ResolveOptions(options, static_cast<int>(made.worker_pus.size())));
  made.pool = std::make_unique<PoolState>(
      topology, made.worker_pus,
      PoolState::Params{.run_queue_units = options.run_queue_units, .options = resolved});
  GOPMILL_ASSIGN_OR_RETURN(made.policy, MakePolicy(options.policy, resolved, *made.pool));
  return made;
}

}  // namespace

double SchedulerStats::Overhead() const {
  return run_time.count() == 0 ? 0.0 : ToSeconds(decision_time) / ToSeconds(run_time);
}

double SchedulerStats::Disruption() const {
  return assigned == 0 ? 0.0
                       : static_cast<double>(assigned_elsewhere) / static_cast<double>(assigned);
}

Result<WorkerId> HomeOf(StreamId stream, const SchedulerOptions& options,
                        const Topology& topology) {
  GOPMILL_ASSIGN_OR_RETURN(const Decider decider, MakeDecider(options, topology));
  return decider.policy->Home(stream, *decider.pool).worker;
}

Result<std::unique_ptr<Scheduler>> Scheduler::Create(const SchedulerOptions& options,
                                                     const Topology& topology,
                                                     WorkerLocalFactory make_local) {
  GOPMILL_ASSIGN_OR_RETURN(Decider decider, MakeDecider(options, topology));
  ThreadExecutor::Params workers{
      .pu_os_indices = {}, .pin = options.pin, .make_local = std::move(make_local)};
  for (const int pu : decider.worker_pus) workers.pu_os_indices.push_back(topology.pu(pu).os_index);
  auto dispatcher =
      std::make_unique<Dispatcher>(std::move(decider.pool), std::move(decider.policy), &SteadyNow);
  auto core = std::make_unique<Core>(topology, std::move(decider.worker_pus), std::move(dispatcher),
                                     std::move(workers));
  GOPMILL_RETURN_IF_ERROR(core->Launch());
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(core)));
}

Scheduler::Scheduler(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Scheduler::~Scheduler() { Shutdown(); }

Status Scheduler::Submit(const JobSpec& spec, std::unique_ptr<Job> job) {
  if (job == nullptr || spec.cost_bytes == 0) {
    return InvalidArgument("cost_bytes", "A job needs something to run and a cost.",
                           "1 byte or more");
  }
  return core_->Submit(spec, std::move(job));
}

void Scheduler::Cancel(StreamId stream) { core_->Cancel(stream); }
void Scheduler::SetInService(int workers) { core_->SetInService(workers); }
void Scheduler::Shutdown() { core_->Shutdown(); }
SchedulerStats Scheduler::Stats() const { return core_->Stats(false); }
SchedulerStats Scheduler::StatsWithRuns() const { return core_->Stats(true); }
int Scheduler::worker_count() const { return core_->worker_count(); }
int Scheduler::in_service() const { return core_->in_service(); }
std::span<const ServiceClass> Scheduler::classes() const { return core_->classes(); }

TimePoint Scheduler::DeadlineOf(std::uint16_t service_class) const {
  const Duration within = classes()[service_class].deadline;
  return within > Duration::zero() ? SteadyNow() + within : kNoDeadline;
}

Result<std::uint16_t> Scheduler::ClassOf(const std::string& name) const {
  std::string names;
  for (std::size_t i = 0; i < classes().size(); ++i) {
    if (name.empty() || classes()[i].name == name) return static_cast<std::uint16_t>(i);
    names += (names.empty() ? "" : ", ") + classes()[i].name;
  }
  return InvalidArgument("class", "There is no service class \"" + name + "\".", names);
}

const Topology& Scheduler::topology() const { return core_->topology(); }

}  // namespace gopmill
