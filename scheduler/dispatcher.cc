// SPDX-License-Identifier: Apache-2.0
#include "scheduler/dispatcher.h"

#include <utility>

namespace gopmill {

Dispatcher::Dispatcher(std::unique_ptr<PoolState> pool, std::unique_ptr<Policy> policy,
                       Stopwatch stopwatch)
    : pool_(std::move(pool)),
      policy_(std::move(policy)),
      stopwatch_(stopwatch),
      worker_counters_(static_cast<std::size_t>(pool_->worker_count())) {
  pending_.reserve(64);
}

void Dispatcher::Step(DispatcherEvent event, TimePoint now,
                      std::vector<DispatcherAction>& actions) {
  now_ = now;
  out_ = &actions;
  std::visit([this](auto& e) { Handle(e); }, event);
}

void Dispatcher::Handle(JobArrived& event) {
  ++counters_.submitted;
  ++unfinished_;
  const UnitRef ref = pool_->Add(event.spec, std::move(event.job), event.submitted);
  if (closed_) {
    CancelWaiting(ref);
  } else if (pool_->IsHead(ref)) {
    Offer(ref);
  }
}

void Dispatcher::Handle(JobFinished& event) {
  const WorkerId worker = event.report.worker;
  const UnitRef ref = pool_->FindOn(worker, event.report.unit);
  GOPMILL_CHECK(ref.valid());
  const Duration ran = event.report.finished - event.report.started;
  counters_.run_time += ran;
  worker_counters_[static_cast<std::size_t>(worker.value)].Add(
      {event.report.unit, event.report.started, event.report.finished});
  pool_->Unassign(ref, now_);
  pool_->Account(ref, event.report);
  Decide(UnitFinished{ref, worker, ran, event.report.cold});
  ApplyDecision();
  if (event.job == nullptr) {
    pool_->Release(ref);
    --unfinished_;
  } else {
    Unit& unit = pool_->unit(ref);
    unit.job = std::move(event.job);
    unit.report = event.report;
    if (unit.cancelled || closed_ || !HasOtherWorker(worker)) {
      Report(ref, JobOutcome::kFailed);
    } else {
      ++counters_.retries;
      unit.excluded = worker;
      ComeBack(ref);
    }
  }
  RefillWorker(worker);
}

void Dispatcher::Handle(JobRecalled& event) {
  const UnitRef ref = pool_->FindOn(event.worker, event.unit);
  // A unit can be asked back twice (its worker leaves, then it is cancelled); the second answer
  // finds nothing.
  if (!ref.valid() || event.job == nullptr) return;
  Unit& unit = pool_->unit(ref);
  pool_->TakeBack(ref, now_);
  --counters_.assigned;
  if (event.worker != unit.report.home) --counters_.assigned_elsewhere;
  Decide(UnitRecalled{ref, event.worker});
  ApplyDecision();
  unit.job = std::move(event.job);
  // As if it had never been assigned: where it ran last is where it failed, if it ever did.
  unit.report.worker = unit.excluded;
  unit.report.attempt = 0;
  if (unit.cancelled || closed_) {
    ReportCancelled(ref);
  } else {
    ComeBack(ref);
  }
  RefillWorker(event.worker);
}

void Dispatcher::Handle(StreamCancelled& event) {
  for (UnitRef ref; (ref = pool_->FirstWaiting(event.stream)).valid();) CancelWaiting(ref);
  for (UnitRef ref = pool_->FirstAssigned(event.stream); ref.valid();
       ref = pool_->NextOfStream(ref)) {
    CancelAssigned(ref);
  }
}

void Dispatcher::Handle(AllCancelled& /*event*/) {
  closed_ = true;
  for (UnitRef ref; (ref = pool_->OldestHead()).valid();) CancelWaiting(ref);
  for (std::int32_t i = 0; i < pool_->worker_count(); ++i) {
    for (UnitRef ref = pool_->Running(WorkerId{i}); ref.valid(); ref = pool_->NextQueued(ref)) {
      CancelAssigned(ref);
    }
  }
}

void Dispatcher::Handle(WorkersChanged& event) {
  if (pool_->available(event.worker) == event.available) return;
  pool_->SetAvailable(event.worker, event.available);
  const UnitRef running = pool_->Running(event.worker);
  if (!event.available && running.valid()) {
    // What it runs it may finish; what is behind that goes to others.
    for (UnitRef ref = pool_->NextQueued(running); ref.valid(); ref = pool_->NextQueued(ref)) {
      out_->push_back(RecallAction{event.worker, pool_->unit(ref).spec.unit});
    }
  }
  Decide(event);
  ApplyDecision();
  for (UnitRef ref = pool_->OldestHead(); ref.valid(); ref = pool_->NextHead(ref)) {
    pool_->Hold(ref, WorkerId{});
    pending_.push_back(ref);
  }
  OfferPending();
  RefillWorker(event.worker);
}

void Dispatcher::Offer(UnitRef unit) {
  pending_.push_back(unit);
  OfferPending();
}

// Every assignment makes another unit the head of its line, which joins the end of pending_.
void Dispatcher::OfferPending() {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const UnitRef ref = pending_[i];
    // An earlier answer may have dealt with it.
    if (!pool_->IsHead(ref)) continue;
    const WorkerId excluded = pool_->unit(ref).excluded;
    if (excluded.value >= 0 && !HasOtherWorker(excluded)) {
      const UnitRef next = pool_->Withdraw(ref);
      if (next.valid()) pending_.push_back(next);
      Report(ref, JobOutcome::kFailed);
      continue;
    }
    EnsureHome(ref);
    Decide(Arrived{ref});
    ApplyDecision();
  }
  pending_.clear();
}

void Dispatcher::RefillWorker(WorkerId worker) {
  while (!closed_ && pool_->has_room(worker)) {
    Decide(WorkerFree{worker});
    const bool assigned = ApplyDecision();
    OfferPending();
    if (!assigned) return;
  }
}

void Dispatcher::Decide(const PolicyEvent& event) {
  decision_.Clear();
  ++counters_.decisions;
  const TimePoint start = stopwatch_ != nullptr ? stopwatch_() : TimePoint{};
  policy_->On(event, *pool_, now_, decision_);
  if (stopwatch_ == nullptr) return;
  const Duration spent = stopwatch_() - start;
  counters_.decision_time += spent;
  UnitRef named;
  if (const auto* arrived = std::get_if<Arrived>(&event)) {
    named = arrived->unit;
  } else if (!decision_.actions().empty()) {
    named = std::visit([](const auto& action) { return action.unit; }, decision_.actions().front());
  }
  if (!named.valid()) return;
  JobReport& report = pool_->unit(named).report;
  report.decision += spent;
  report.last_decision = spent;
}

// True if it assigned something.
bool Dispatcher::ApplyDecision() {
  const std::uint64_t before = counters_.assigned;
  for (const PolicyAction& action : decision_.actions()) {
    std::visit([this](const auto& a) { Apply(a); }, action);
  }
  return counters_.assigned != before;
}

void Dispatcher::Apply(const Assign& action) { AssignTo(action.unit, action.worker); }

void Dispatcher::Apply(const Hold& action) {
  GOPMILL_CHECK(pool_->IsHead(action.unit));
  pool_->Hold(action.unit, action.worker);
}

void Dispatcher::EnsureHome(UnitRef ref) {
  if (const StreamHome* cached = pool_->CachedHome(ref)) {
    pool_->unit(ref).home = *cached;
    return;
  }
  pool_->SetHome(ref, policy_->Home(pool_->unit(ref).spec.unit.stream, *pool_));
}

void Dispatcher::AssignTo(UnitRef ref, WorkerId worker) {
  Unit& unit = pool_->unit(ref);
  GOPMILL_CHECK(pool_->IsHead(ref) && pool_->has_room(worker) && unit.excluded != worker);
  unit.report.worker = worker;
  unit.report.home = unit.home.worker;
  unit.report.assigned = now_;
  unit.report.attempt = unit.excluded.value >= 0 ? 1 : 0;
  ++counters_.assigned;
  if (worker != unit.home.worker) ++counters_.assigned_elsewhere;
  const bool may_retry = unit.report.attempt == 0 && HasOtherWorker(worker);
  out_->push_back(StartAction{worker, {std::move(unit.job), unit.report, may_retry}});
  const UnitRef next = pool_->Assign(ref, worker, now_);
  if (next.valid()) pending_.push_back(next);
}

// A unit without a place lines up again and is offered if it is first.
void Dispatcher::ComeBack(UnitRef ref) {
  pool_->Requeue(ref);
  if (pool_->IsHead(ref)) Offer(ref);
}

void Dispatcher::CancelWaiting(UnitRef ref) {
  pool_->Withdraw(ref);
  ReportCancelled(ref);
}

// The worker may have begun it: then this only keeps it from being retried.
void Dispatcher::CancelAssigned(UnitRef ref) {
  Unit& unit = pool_->unit(ref);
  unit.cancelled = true;
  out_->push_back(RecallAction{unit.worker, unit.spec.unit});
}

void Dispatcher::Report(UnitRef ref, JobOutcome outcome) {
  Unit& unit = pool_->unit(ref);
  unit.report.outcome = outcome;
  out_->push_back(ReportAction{std::move(unit.job), unit.report});
  pool_->Release(ref);
  --unfinished_;
}

// "Cancelled" means that it never ran; one that waited for its second attempt ends as the first
// did.
void Dispatcher::ReportCancelled(UnitRef ref) {
  if (pool_->unit(ref).excluded.value >= 0) {
    Report(ref, JobOutcome::kFailed);
  } else {
    ++counters_.cancelled;
    Report(ref, JobOutcome::kCancelled);
  }
}

bool Dispatcher::HasOtherWorker(WorkerId than) const {
  const int itself = pool_->available(than) ? 1 : 0;
  return pool_->available_workers() > itself;
}

}  // namespace gopmill
