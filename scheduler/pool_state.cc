// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pool_state.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace gopmill {

namespace {

std::vector<ServiceClass> AtLeastOne(std::vector<ServiceClass> classes) {
  if (classes.empty()) classes.emplace_back();
  return classes;
}

}  // namespace

PoolState::PoolState(const Topology& topology, std::span<const int> worker_pus,
                     const Params& params)
    : run_queue_units_(params.run_queue_units),
      running_rule_(params.options.running),
      measure_(params.options.measure),
      classes_(AtLeastOne(params.options.classes)),
      class_states_(classes_.size()),
      contexts_(static_cast<int>(worker_pus.size()), params.options.contexts_per_worker),
      tree_(topology, worker_pus, params.options),
      loads_(worker_pus.size(), 0),
      workers_(worker_pus.size()) {
  for (std::size_t c = 0; c < classes_.size(); ++c) turns_.emplace_back(&head_memory_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    held_.emplace_back(&head_memory_);
    candidates_.push_back(Candidate::Of(static_cast<std::uint32_t>(i)));
    RefreshIdle(WorkerId{static_cast<std::int32_t>(i)});
  }
}

bool PoolState::has_room(WorkerId w) const {
  return worker(w).available && (run_queue_units_ == 0 || worker(w).units < run_queue_units_);
}

UnitRef PoolState::Add(const JobSpec& spec, std::unique_ptr<Job> job, TimePoint submitted) {
  if (free_units_.empty()) {
    free_units_.push_back(static_cast<std::uint32_t>(units_.size()));
    units_.emplace_back();
    free_units_.reserve(units_.capacity());
  }
  const UnitRef ref{free_units_.back()};
  free_units_.pop_back();
  const std::uint32_t stream_slot = StreamSlotFor(spec.unit.stream);
  Unit& added = unit(ref);
  added = Unit{};
  added.spec = spec;
  added.place = {.sequence = next_sequence_++, .since = submitted};
  added.phase = UnitPhase::kWaiting;
  added.report.unit = spec.unit;
  added.report.submitted = submitted;
  added.job = std::move(job);
  added.stream_slot = stream_slot;
  added.service_class =
      static_cast<std::uint16_t>(std::min<std::size_t>(spec.service_class, classes_.size() - 1));
  added.context = contexts_.Ref(spec);

  Stream& stream = streams_[stream_slot];
  ++stream.units;
  LineUp(stream, ref);
  CountWaiting(added, stream, true);
  return ref;
}

// Units of a stream come back in any order, and one that goes on with another's decoder comes when
// that one is done with it, behind later units that need nobody's. Behind them in the line it would
// keep back all that they make.
void PoolState::LineUp(Stream& stream, UnitRef ref) {
  const auto later = [&](UnitRef other) {
    return other.valid() && unit(other).spec.unit.index > unit(ref).spec.unit.index;
  };
  const auto behind = [&](UnitRef other, UnitRef of) {
    return other.valid() && unit(other).place.sequence > unit(of).place.sequence;
  };
  const UnitRef old_head = stream.waiting.front();
  const WorkerId held_for =
      old_head.valid() && unit(old_head).is_held ? unit(old_head).worker : WorkerId{};
  if (later(old_head) || behind(old_head, ref)) LeaveHeads(old_head);
  UnitRef before = stream.waiting.back();
  for (; later(before); before = unit(before).line.previous) {
    if (behind(ref, before)) std::swap(unit(before).place, unit(ref).place);
  }
  stream.waiting.InsertAfter(units_, before, ref);
  // A retry may have a place in front of those that go before it.
  for (UnitRef last = ref; behind(before, last); before = unit(before).line.previous) {
    std::swap(unit(before).place, unit(last).place);
    last = before;
  }
  const UnitRef head = stream.waiting.front();
  if (unit(head).is_head) return;
  JoinHeads(head);
  if (head == old_head && held_for.value >= 0) Hold(head, held_for);
}

void PoolState::CountWaiting(const Unit& unit, Stream& stream, bool waits) {
  ClassState& of_class = class_states_[unit.service_class];
  const std::uint64_t units = waits ? 1 : ~std::uint64_t{0};
  const std::uint64_t bytes =
      waits ? unit.spec.cost_bytes : 0 - std::uint64_t{unit.spec.cost_bytes};
  waiting_units_ += units;
  waiting_bytes_ += bytes;
  of_class.waiting_units += units;
  of_class.waiting_bytes += bytes;
  stream.waiting_bytes += bytes;
}

std::uint32_t PoolState::StreamSlotFor(StreamId id) {
  const auto [entry, is_new] = stream_slots_.try_emplace(id, kNoSlot);
  if (!is_new) return entry->second;
  if (free_streams_.empty()) {
    free_streams_.push_back(static_cast<std::uint32_t>(streams_.size()));
    streams_.emplace_back();
    free_streams_.reserve(streams_.capacity());
  }
  entry->second = free_streams_.back();
  free_streams_.pop_back();
  streams_[entry->second] = Stream{};
  streams_[entry->second].id = id;
  return entry->second;
}

void PoolState::JoinHeads(UnitRef ref) {
  Unit& head = unit(ref);
  head.is_head = true;
  head.head_place = heads_.Join({.due = {}, .sequence = head.place.sequence, .unit = ref});
  head.turn_place = turns_[head.service_class].Join(
      {.due = head.spec.deadline, .sequence = head.place.sequence, .unit = ref});
  contexts_.AddHead(head.context, {.sequence = head.place.sequence, .unit = ref.slot});
}

void PoolState::LeaveHeads(UnitRef ref) {
  Unit& leaving = unit(ref);
  Unhold(ref);
  if (leaving.is_head) {
    contexts_.RemoveHead(leaving.context, {.sequence = leaving.place.sequence, .unit = ref.slot});
    heads_.Leave(leaving.head_place);
    turns_[leaving.service_class].Leave(leaving.turn_place);
    leaving.is_head = false;
  }
  leaving.worker = WorkerId{};
}

UnitRef PoolState::PromoteHead(Stream& stream) {
  const UnitRef front = stream.waiting.front();
  if (!front.valid() || unit(front).is_head) return {};
  JoinHeads(front);
  return front;
}

void PoolState::Hold(UnitRef ref, WorkerId w) {
  Unhold(ref);
  Unit& held = unit(ref);
  held.worker = w;
  if (w.value < 0) return;
  held.held_place = held_[static_cast<std::size_t>(w.value)].Join(
      {.due = {}, .sequence = held.place.sequence, .unit = ref});
  held.is_held = true;
  held.load = LoadOn(held, measure_ == QueueMeasure::kPredicted ? expected_run(held, w) : 0);
  worker(w).held_load += held.load;
}

void PoolState::Unhold(UnitRef ref) {
  Unit& held = unit(ref);
  if (!held.is_held) return;
  held.is_held = false;
  held_[static_cast<std::size_t>(held.worker.value)].Leave(held.held_place);
  worker(held.worker).held_load -= held.load;
}

std::uint64_t PoolState::LoadOn(const Unit& unit, double expected) const {
  const bool in_time = measure_ == QueueMeasure::kPredicted && expected >= 1;
  return in_time ? static_cast<std::uint64_t>(expected) : unit.spec.cost_bytes;
}

UnitRef PoolState::Assign(UnitRef ref, WorkerId w, TimePoint now) {
  Stream& stream = stream_of(ref);
  LeaveHeads(ref);
  stream.waiting.Remove(units_, ref);
  stream.assigned.PushBack(units_, ref);
  Unit& assigned = unit(ref);
  assigned.phase = UnitPhase::kAssigned;
  assigned.worker = w;
  CountWaiting(assigned, stream, false);
  ++class_states_[assigned.service_class].assigned_units;
  assigned.expected = static_cast<std::uint64_t>(expected_run(assigned, w));
  assigned.load = LoadOn(assigned, static_cast<double>(assigned.expected));
  assigned.taken_for_warm = contexts_.Warm(assigned.context, w);
  contexts_.Use(assigned.context, w);

  Worker& target = worker(w);
  if (target.units == 0) target.running_since = now;
  target.queue.PushBack(units_, ref);
  ++target.units;
  target.bytes += assigned.spec.cost_bytes;
  target.load += assigned.load;
  target.expected += assigned.expected;
  RefreshLoad(w);
  RefreshIdle(w);
  return PromoteHead(stream);
}

void PoolState::Unassign(UnitRef ref, TimePoint now) {
  Unit& leaving = unit(ref);
  Worker& source = worker(leaving.worker);
  if (source.queue.front() == ref) source.running_since = now;
  source.queue.Remove(units_, ref);
  --source.units;
  source.bytes -= leaving.spec.cost_bytes;
  source.load -= leaving.load;
  source.expected -= leaving.expected;
  --class_states_[leaving.service_class].assigned_units;
  stream_of(ref).assigned.Remove(units_, ref);
  RefreshLoad(leaving.worker);
  RefreshIdle(leaving.worker);
  leaving.worker = WorkerId{};
  leaving.phase = UnitPhase::kFree;
}

void PoolState::TakeBack(UnitRef ref, TimePoint now) {
  const WorkerId w = unit(ref).worker;
  const UnitRef behind = NextQueued(ref);
  Unassign(ref, now);
  const Unit& back = unit(ref);
  if (back.taken_for_warm) return;
  for (UnitRef other = behind; other.valid(); other = NextQueued(other)) {
    if (unit(other).context != back.context) continue;
    unit(other).taken_for_warm = false;  // the next one that needs the context opens it instead
    return;
  }
  contexts_.TakeBack(back.context, w);
}

void PoolState::Requeue(UnitRef ref) {
  Stream& stream = stream_of(ref);
  LineUp(stream, ref);
  Unit& waiting = unit(ref);
  waiting.phase = UnitPhase::kWaiting;
  CountWaiting(waiting, stream, true);
}

UnitRef PoolState::Withdraw(UnitRef ref) {
  Stream& stream = stream_of(ref);
  LeaveHeads(ref);
  stream.waiting.Remove(units_, ref);
  unit(ref).phase = UnitPhase::kFree;
  CountWaiting(unit(ref), stream, false);
  return PromoteHead(stream);
}

void PoolState::Release(UnitRef ref) {
  Unit& freed = unit(ref);
  GOPMILL_CHECK(freed.phase == UnitPhase::kFree && freed.job == nullptr);
  contexts_.Unref(freed.context);
  const std::uint32_t stream_slot = freed.stream_slot;
  Stream& stream = streams_[stream_slot];
  if (--stream.units == 0) {
    stream_slots_.erase(stream.id);
    free_streams_.push_back(stream_slot);
  }
  free_units_.push_back(ref.slot);
}

double PoolState::time_until_free(WorkerId w, TimePoint now) const {
  const Worker& busy = worker(w);
  if (busy.units == 0) return 0;
  const auto running = static_cast<double>(unit(busy.queue.front()).expected);
  const auto done = static_cast<double>((now - busy.running_since).count());
  return static_cast<double>(busy.expected) - std::clamp(done, 0.0, running);
}

void PoolState::Account(UnitRef ref, const JobReport& report) {
  const Unit& ran = unit(ref);
  class_states_[ran.service_class].served += report.finished - report.started;
  if (report.outcome == JobOutcome::kDone) {
    contexts_.Learn(ran.context, ran.spec, report, ran.taken_for_warm);
  }
}

void PoolState::SetAvailable(WorkerId w, bool available) {
  Worker& changed = worker(w);
  if (changed.available == available) return;
  changed.available = available;
  tree_.SetAvailable(w, available);
  RefreshIdle(w);
  ++epoch_;
}

UnitRef PoolState::FindOn(WorkerId w, UnitId id) const {
  for (UnitRef ref = Running(w); ref.valid(); ref = NextQueued(ref)) {
    if (unit(ref).spec.unit == id) return ref;
  }
  return {};
}

UnitRef PoolState::FirstWaiting(StreamId stream) const {
  const auto entry = stream_slots_.find(stream);
  return entry == stream_slots_.end() ? UnitRef{} : streams_[entry->second].waiting.front();
}

UnitRef PoolState::FirstAssigned(StreamId stream) const {
  const auto entry = stream_slots_.find(stream);
  return entry == stream_slots_.end() ? UnitRef{} : streams_[entry->second].assigned.front();
}

const StreamHome* PoolState::CachedHome(UnitRef ref) const {
  const Stream& stream = streams_[unit(ref).stream_slot];
  return stream.home_epoch == epoch_ ? &stream.home : nullptr;
}

void PoolState::SetHome(UnitRef ref, StreamHome home) {
  Stream& stream = stream_of(ref);
  stream.home = home;
  stream.home_epoch = epoch_;
  unit(ref).home = home;
}

void PoolState::RefreshLoad(WorkerId w) {
  const Worker& changed = worker(w);
  std::uint64_t load = changed.load;
  if (running_rule_ == RunningRule::kNotCounted && changed.units > 0) {
    load -= unit(changed.queue.front()).load;
  }
  loads_[static_cast<std::size_t>(w.value)] = load;
  tree_.SetLoad(w, load);
}

// Keeps the list of idle workers in the order in which they became idle, and their counts in the
// tree.
void PoolState::RefreshIdle(WorkerId w) {
  Worker& changed = worker(w);
  if (idle(w) == changed.in_idle_list) return;
  changed.in_idle_list = !changed.in_idle_list;
  tree_.SetVacant(w, changed.in_idle_list);
  if (changed.in_idle_list) {
    changed.previous_idle = idle_back_;
    (idle_back_.value >= 0 ? worker(idle_back_).next_idle : idle_front_) = w;
    idle_back_ = w;
    return;
  }
  const WorkerId before = std::exchange(changed.previous_idle, WorkerId{});
  const WorkerId after = std::exchange(changed.next_idle, WorkerId{});
  (before.value >= 0 ? worker(before).next_idle : idle_front_) = after;
  (after.value >= 0 ? worker(after).previous_idle : idle_back_) = before;
}

}  // namespace gopmill
