// SPDX-License-Identifier: Apache-2.0
//
// All that a decision can depend on: which units wait, in which order, and what every worker holds.
// Policies read it; only the dispatcher changes it.
//
//   stream 7:  u3 <- u4 <- u5     one line per stream, by index; only its head can be assigned.
//   stream 9:  u0                 The heads of all lines, in order of arrival, are the global FIFO.
//
//   worker 0:  [u2 running][u8]   run queue: the first unit is the one the worker is busy with
//
// A head for which a policy has chosen a full worker is *held* for that worker: it waits, its
// stream waits behind it, and nobody else does.
//
// Guarantees: no operation looks at all workers. What becomes a head or is held finds its place in
// O(log n); a unit that lines up goes past the later ones of its line. None allocates except when
// more units or streams are in the scheduler than ever before.
//
// Thread-safety: compatible.
#pragma once

#include <memory>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

#include "scheduler/context_table.h"
#include "scheduler/head_order.h"
#include "scheduler/job.h"
#include "scheduler/load_tree.h"
#include "scheduler/unit_list.h"

namespace gopmill {

// Where the hash alone sends a stream, and the digest to use for it from now on.
struct StreamHome {
  WorkerId worker;  // -1 while no worker is in service
  std::uint64_t key = 0;
};

enum class UnitPhase { kFree, kWaiting, kAssigned };

// What waits and what was served, by service class.
struct ClassState {
  std::uint64_t waiting_units = 0;
  std::uint64_t waiting_bytes = 0;
  int assigned_units = 0;
  Duration served{};  // worker time of its finished runs
};

// A turn among all units, and since when it waits. Where a unit lines up in front of others of its
// stream it takes over theirs, and they each other's.
struct UnitPlace {
  std::uint64_t sequence = 0;  // in the order of arrival
  TimePoint since;
};

// One unit in the scheduler. Policies read the first group only.
struct Unit {
  JobSpec spec;
  StreamHome home;
  WorkerId excluded;  // where it failed before; -1 otherwise
  WorkerId worker;    // waiting: the one it is held for (-1: any); assigned: the one that has it
  std::uint16_t service_class = 0;  // index into the pool's classes
  std::uint32_t context = 0;        // slot in the pool's context table
  std::uint64_t load = 0;  // what it adds, or held would add, to its worker's queue (QueueMeasure)
  std::uint64_t expected = 0;   // assigned: predicted run time there, ns; 0 = not known
  bool taken_for_warm = false;  // assigned: its contexts should be open there

  UnitPlace place;
  UnitPhase phase = UnitPhase::kFree;
  bool cancelled = false;  // its stream was cancelled while a worker had it
  JobReport report;
  std::unique_ptr<Job> job;  // null while a worker has it
  std::uint32_t stream_slot = kNoSlot;

  UnitLink line;         // its stream's line, or its stream's assigned units
  bool is_head = false;  // then these are its places among the heads of all lines and of its class
  HeadOrder::Place head_place = {}, turn_place = {};
  bool is_held = false;  // then this is its place among the heads held for `worker`
  HeadOrder::Place held_place = {};
  UnitLink run;  // the run queue of a worker
};

class PoolState {
 public:
  struct Params {
    int run_queue_units = 2;  // the running one included; 0 = without bound
    PolicyOptions options = {};
  };
  // `worker_pus`: for every worker the index of its PU in topology.pus(), not decreasing.
  PoolState(const Topology& topology, std::span<const int> worker_pus, const Params& params);

  // --- What policies look at ---------------------------------------------------------------------
  [[nodiscard]] int worker_count() const { return static_cast<int>(workers_.size()); }
  [[nodiscard]] bool available(WorkerId w) const { return worker(w).available; }
  // Another unit fits into its run queue.
  [[nodiscard]] bool has_room(WorkerId w) const;
  // In service and without any unit.
  [[nodiscard]] bool idle(WorkerId w) const { return worker(w).available && worker(w).units == 0; }
  // The queues that policies compare, by worker (RunningRule and QueueMeasure applied).
  [[nodiscard]] std::span<const std::uint64_t> loads() const { return loads_; }
  // The queue of one worker and the heads that are held for it: what waits for it in all, where a
  // policy's picks are final.
  [[nodiscard]] std::uint64_t load_with_held(WorkerId w) const {
    return loads_[static_cast<std::size_t>(w.value)] + worker(w).held_load;
  }
  [[nodiscard]] std::span<const Candidate> candidates() const { return candidates_; }
  [[nodiscard]] const LoadTree& tree() const { return tree_; }
  // The idle worker that has been so for longest; -1 if none is.
  [[nodiscard]] WorkerId LongestIdle() const { return idle_front_; }
  [[nodiscard]] WorkerId NextIdle(WorkerId w) const { return worker(w).next_idle; }
  // The one that has been so for shortest.
  [[nodiscard]] WorkerId LatestIdle() const { return idle_back_; }
  [[nodiscard]] WorkerId PreviousIdle(WorkerId w) const { return worker(w).previous_idle; }

  [[nodiscard]] const Unit& unit(UnitRef ref) const { return units_[ref.slot]; }
  [[nodiscard]] UnitRef OldestHead() const { return heads_.front(); }
  [[nodiscard]] UnitRef NextHead(UnitRef ref) const { return heads_.After(unit(ref).head_place); }
  // The heads of one class in the order in which they are due.
  [[nodiscard]] UnitRef FirstHeadOf(int service_class) const {
    return turns_[static_cast<std::size_t>(service_class)].front();
  }
  [[nodiscard]] UnitRef NextHeadOf(UnitRef ref) const {
    const Unit& at = unit(ref);
    return turns_[at.service_class].After(at.turn_place);
  }
  [[nodiscard]] UnitRef OldestHeldFor(WorkerId w) const { return held_for(w).front(); }
  // Of a head that is held.
  [[nodiscard]] UnitRef NextHeld(UnitRef ref) const {
    const Unit& at = unit(ref);
    return held_for(at.worker).After(at.held_place);
  }
  // The unit a worker is busy with.
  [[nodiscard]] UnitRef Running(WorkerId w) const { return worker(w).queue.front(); }
  [[nodiscard]] UnitRef NextQueued(UnitRef ref) const { return RunList::Next(units_, ref); }

  [[nodiscard]] std::span<const ServiceClass> classes() const { return classes_; }
  [[nodiscard]] const ClassState& class_state(int service_class) const {
    return class_states_[static_cast<std::size_t>(service_class)];
  }
  // Bytes of the unit's stream that wait.
  [[nodiscard]] std::uint64_t waiting_bytes_of(const Unit& unit) const {
    return streams_[unit.stream_slot].waiting_bytes;
  }
  [[nodiscard]] UnitRef FirstAssignedOfStream(UnitRef ref) const {
    return stream_of(ref).assigned.front();
  }
  // The worker still has the contexts that the unit needs.
  [[nodiscard]] bool warm(UnitRef ref, WorkerId w) const {
    return contexts_.Warm(unit(ref).context, w);
  }
  // Calls `visit(ref)` for waiting heads whose contexts the worker keeps: of each context, most
  // recently used first, for the oldest head that needs it, and for the next one as long as `visit`
  // says true.
  template <class Visit>
  void ForEachWarmHead(WorkerId w, Visit visit) const {
    for (const std::uint32_t slot : contexts_.KeptBy(w)) {
      if (slot == 0) continue;
      ContextTable::Head head = contexts_.OldestHead(slot);
      while (head.valid() && visit(UnitRef{head.unit})) head = contexts_.NextHead(slot, head);
    }
  }
  // Expected run time in nanoseconds: warm, and the surcharge of a cold start. 0 = not known yet.
  [[nodiscard]] double predicted(UnitRef ref, WorkerId w) const {
    return contexts_.Predict(unit(ref).context, unit(ref).spec, w);
  }
  [[nodiscard]] double opening_time(UnitRef ref) const {
    return contexts_.OpeningTime(unit(ref).context);
  }

  // Both together for a unit that would start on `w`.
  [[nodiscard]] double expected_run(const Unit& unit, WorkerId w) const {
    const double opening =
        contexts_.Warm(unit.context, w) ? 0 : contexts_.OpeningTime(unit.context);
    return contexts_.Predict(unit.context, unit.spec, w) + opening;
  }

  [[nodiscard]] int available_workers() const { return tree_.node(0).available; }
  [[nodiscard]] int units_of(WorkerId w) const { return worker(w).units; }
  [[nodiscard]] std::uint64_t bytes_of(WorkerId w) const { return worker(w).bytes; }
  // Predicted time of all units it has, less what the running one has done: how long until it is
  // free, ns.
  [[nodiscard]] double time_until_free(WorkerId w, TimePoint now) const;
  [[nodiscard]] std::uint64_t waiting_units() const { return waiting_units_; }
  [[nodiscard]] std::uint64_t waiting_bytes() const { return waiting_bytes_; }

  // --- What the dispatcher does ------------------------------------------------------------------
  Unit& unit(UnitRef ref) { return units_[ref.slot]; }
  [[nodiscard]] bool IsHead(UnitRef ref) const { return unit(ref).is_head; }
  // A new unit in its stream's line: in front of those with a greater index. The places of the line
  // among all units stay what they were (not by deadline: each unit has its own); the unit that
  // comes late adds the last one.
  UnitRef Add(const JobSpec& spec, std::unique_ptr<Job> job, TimePoint submitted = {});
  // The unit waits for `w` (-1: for whoever comes free).
  void Hold(UnitRef ref, WorkerId w);
  // A head goes to the end of a run queue. Returns the new head of its stream, if there is one.
  UnitRef Assign(UnitRef ref, WorkerId w, TimePoint now);
  // Takes an assigned unit out of its run queue. It is in no list then: Requeue or Release it.
  void Unassign(UnitRef ref, TimePoint now);
  // The same for one that never began: its worker will not have opened its context.
  void TakeBack(UnitRef ref, TimePoint now);
  // Back to its stream's line, as Add does.
  void Requeue(UnitRef ref);
  // Takes a waiting unit out of its line. Returns the new head of its stream if that changed.
  UnitRef Withdraw(UnitRef ref);
  // Forgets a unit that is in no list.
  void Release(UnitRef ref);
  void SetAvailable(WorkerId w, bool available);
  // A run of the unit, which is in no list now, ended: accounts and learns its times.
  void Account(UnitRef ref, const JobReport& report);
  // The unit of that id among those the worker holds; invalid if there is none.
  [[nodiscard]] UnitRef FindOn(WorkerId w, UnitId id) const;
  // First waiting / first assigned unit of a stream; NextOfStream continues either.
  [[nodiscard]] UnitRef FirstWaiting(StreamId stream) const;
  [[nodiscard]] UnitRef FirstAssigned(StreamId stream) const;
  [[nodiscard]] UnitRef NextOfStream(UnitRef ref) const { return LineList::Next(units_, ref); }
  // The home its stream got from an earlier unit, if the set of workers is still the same.
  [[nodiscard]] const StreamHome* CachedHome(UnitRef ref) const;
  void SetHome(UnitRef ref, StreamHome home);

 private:
  using LineList = UnitList<Unit, &Unit::line>;
  using RunList = UnitList<Unit, &Unit::run>;

  struct Worker {
    RunList queue;
    int units = 0;
    std::uint64_t bytes = 0;  // of all units it has
    std::uint64_t load = 0;   // the same in the measure of the queues
    std::uint64_t held_load = 0;
    std::uint64_t expected = 0;
    bool available = true;
    TimePoint running_since;
    WorkerId previous_idle, next_idle;
    bool in_idle_list = false;
  };
  struct Stream {
    StreamId id;
    LineList waiting;
    LineList assigned;
    std::uint64_t units = 0;
    std::uint64_t waiting_bytes = 0;
    StreamHome home;
    std::uint64_t home_epoch = 0;  // the value of epoch_ when `home` was found; 0 = never
  };

  [[nodiscard]] const Worker& worker(WorkerId w) const {
    return workers_[static_cast<std::size_t>(w.value)];
  }
  Worker& worker(WorkerId w) { return workers_[static_cast<std::size_t>(w.value)]; }
  [[nodiscard]] const HeadOrder& held_for(WorkerId w) const {
    return held_[static_cast<std::size_t>(w.value)];
  }
  Stream& stream_of(UnitRef ref) { return streams_[unit(ref).stream_slot]; }
  [[nodiscard]] const Stream& stream_of(UnitRef ref) const {
    return streams_[unit(ref).stream_slot];
  }
  std::uint32_t StreamSlotFor(StreamId id);
  void CountWaiting(const Unit& unit, Stream& stream, bool waits);
  void LineUp(Stream& stream, UnitRef ref);
  [[nodiscard]] std::uint64_t LoadOn(const Unit& unit, double expected) const;
  void Unhold(UnitRef ref);
  void JoinHeads(UnitRef ref);
  void LeaveHeads(UnitRef ref);
  UnitRef PromoteHead(Stream& stream);
  void RefreshLoad(WorkerId w);
  void RefreshIdle(WorkerId w);

  const int run_queue_units_;
  const RunningRule running_rule_;
  const QueueMeasure measure_;
  const std::vector<ServiceClass> classes_;
  std::vector<ClassState> class_states_;
  ContextTable contexts_;
  LoadTree tree_;
  std::vector<Candidate> candidates_;  // of the workers, for flat policies
  std::vector<std::uint64_t> loads_;
  std::vector<Worker> workers_;
  WorkerId idle_front_, idle_back_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> free_units_;
  // Nodes of the orders below are used again.
  std::pmr::unsynchronized_pool_resource head_memory_;
  HeadOrder heads_{&head_memory_};  // by arrival alone
  std::vector<HeadOrder> turns_;    // by class; by deadline, then arrival
  std::vector<HeadOrder> held_;     // by worker; by arrival alone
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> free_streams_;
  // Streams come and go with every gap in their units: their map nodes are used again.
  std::pmr::unsynchronized_pool_resource stream_memory_;
  std::pmr::unordered_map<StreamId, std::uint32_t> stream_slots_{&stream_memory_};
  std::uint64_t next_sequence_ = 0;
  std::uint64_t epoch_ = 1;  // counts changes of the set of workers
  std::uint64_t waiting_units_ = 0;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace gopmill
