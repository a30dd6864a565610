// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pool_state.h"

#include <utility>

#include "base/status.h"

namespace gopmill {

PoolState::PoolState(const Topology& topology, std::span<const int> worker_pus,
                     const Params& params)
    : run_queue_units_(params.run_queue_units),
      running_rule_(params.options.running),
      tree_(topology, worker_pus, params.options.ratios.levels, params.options.children),
      loads_(worker_pus.size(), 0),
      workers_(worker_pus.size()) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    candidates_.push_back(Candidate::Of(static_cast<std::uint32_t>(i)));
    RefreshIdle(WorkerId{static_cast<std::int32_t>(i)});
  }
}

bool PoolState::has_room(WorkerId w) const {
  return worker(w).available && (run_queue_units_ == 0 || worker(w).units < run_queue_units_);
}

UnitRef PoolState::Add(const JobSpec& spec, std::unique_ptr<Job> job) {
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
  added.sequence = next_sequence_++;
  added.phase = UnitPhase::kWaiting;
  added.report.unit = spec.unit;
  added.job = std::move(job);
  added.stream_slot = stream_slot;

  Stream& stream = streams_[stream_slot];
  ++stream.units;
  stream.waiting.PushBack(units_, ref);
  if (stream.waiting.front() == ref) heads_.InsertBySequence(units_, ref);
  ++waiting_units_;
  waiting_bytes_ += spec.cost_bytes;
  return ref;
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

void PoolState::LeaveHeads(UnitRef ref) {
  Unit& leaving = unit(ref);
  if (leaving.held.linked) worker(leaving.worker).held.Remove(units_, ref);
  if (leaving.head.linked) heads_.Remove(units_, ref);
  leaving.worker = WorkerId{};
}

UnitRef PoolState::PromoteHead(Stream& stream) {
  const UnitRef front = stream.waiting.front();
  if (!front.valid() || unit(front).head.linked) return {};
  heads_.InsertBySequence(units_, front);
  return front;
}

void PoolState::Hold(UnitRef ref, WorkerId w) {
  Unit& held = unit(ref);
  if (held.held.linked) worker(held.worker).held.Remove(units_, ref);
  held.worker = w;
  if (w.value >= 0) worker(w).held.InsertBySequence(units_, ref);
}

UnitRef PoolState::Assign(UnitRef ref, WorkerId w, TimePoint now) {
  Stream& stream = stream_of(ref);
  LeaveHeads(ref);
  stream.waiting.Remove(units_, ref);
  stream.assigned.PushBack(units_, ref);
  Unit& assigned = unit(ref);
  assigned.phase = UnitPhase::kAssigned;
  assigned.worker = w;
  --waiting_units_;
  waiting_bytes_ -= assigned.spec.cost_bytes;

  Worker& target = worker(w);
  if (target.units == 0) target.running_since = now;
  target.queue.PushBack(units_, ref);
  ++target.units;
  target.bytes += assigned.spec.cost_bytes;
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
  stream_of(ref).assigned.Remove(units_, ref);
  RefreshLoad(leaving.worker);
  RefreshIdle(leaving.worker);
  leaving.worker = WorkerId{};
  leaving.phase = UnitPhase::kFree;
}

void PoolState::Requeue(UnitRef ref) {
  Stream& stream = stream_of(ref);
  // Units of one stream can come back in any order, but they line up in the order of arrival.
  const UnitRef old_head = stream.waiting.front();
  stream.waiting.InsertBySequence(units_, ref);
  if (stream.waiting.front() == ref) {
    if (old_head.valid()) LeaveHeads(old_head);
    heads_.InsertBySequence(units_, ref);
  }
  Unit& waiting = unit(ref);
  waiting.phase = UnitPhase::kWaiting;
  waiting.thief = WorkerId{};
  ++waiting_units_;
  waiting_bytes_ += waiting.spec.cost_bytes;
}

UnitRef PoolState::Withdraw(UnitRef ref) {
  Stream& stream = stream_of(ref);
  LeaveHeads(ref);
  stream.waiting.Remove(units_, ref);
  unit(ref).phase = UnitPhase::kFree;
  --waiting_units_;
  waiting_bytes_ -= unit(ref).spec.cost_bytes;
  return PromoteHead(stream);
}

void PoolState::Release(UnitRef ref) {
  Unit& freed = unit(ref);
  GOPMILL_CHECK(freed.phase == UnitPhase::kFree && freed.job == nullptr);
  const std::uint32_t stream_slot = freed.stream_slot;
  Stream& stream = streams_[stream_slot];
  if (--stream.units == 0) {
    stream_slots_.erase(stream.id);
    free_streams_.push_back(stream_slot);
  }
  free_units_.push_back(ref.slot);
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
  std::uint64_t bytes = changed.bytes;
  if (running_rule_ == RunningRule::kNotCounted && changed.units > 0) {
    bytes -= unit(changed.queue.front()).spec.cost_bytes;
  }
  loads_[static_cast<std::size_t>(w.value)] = bytes;
  tree_.SetLoad(w, bytes);
}

// Keeps the list of idle workers in the order in which they became idle.
void PoolState::RefreshIdle(WorkerId w) {
  Worker& changed = worker(w);
  if (idle(w) == changed.in_idle_list) return;
  changed.in_idle_list = !changed.in_idle_list;
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
