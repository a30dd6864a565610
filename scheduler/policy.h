// SPDX-License-Identifier: Apache-2.0
//
// The interface of all scheduling policies: a pure state machine
//
//     On(event, pool, now) -> { Assign | Hold }*
//
// without threads, clock reads or I/O, so that the server, the bench and the simulator run the very
// same objects. An event rather than a question "which worker?" because not every policy can answer
// that when a unit arrives: a shared queue decides when a worker comes free (late binding).
//
// Rules for the answers:
//   - only heads of lines are assigned or held; a unit is named at most once per answer;
//   - Assign needs a worker with room, other than the one the unit is excluded from;
//   - a head that is not named in the answer to its Arrived is held for anyone;
//   - answers are applied in order; the pool does not change during On.
// The dispatcher checks them and aborts on a violation: a policy is our own code.
//
// Thread-safety: thread-affine to the dispatcher. On must not allocate: make room in the factory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "scheduler/pool_state.h"

namespace gopmill {

// A unit became the head of its stream's line: it is new, or the one before it was assigned, or it
// came back from a worker.
struct Arrived {
  UnitRef unit;
};
// A worker has room again: it finished a unit (pool.idle says whether it has none left), gave one
// back, or came into service. Sent again as long as the answer assigns something and room is left.
struct WorkerFree {
  WorkerId worker;
};
// A worker left or came back. All heads are offered again with Arrived afterwards.
struct WorkersChanged {
  WorkerId worker;
  bool available = false;
};
// A run ended, well or not. The unit is in no list any more and must not be named in the answer; it
// can be read during On. The pool has accounted and learned its times. WorkerFree follows.
struct UnitFinished {
  UnitRef unit;
  WorkerId worker;
  Duration busy{};  // from the start of the run to its end
  bool cold = false;
};
// An assigned unit was taken back before it began: its assignment counts for nothing. The unit is
// in no list and must not be named in the answer; it can be read during On. If it is not cancelled,
// Arrived follows once it heads its line.
struct UnitRecalled {
  UnitRef unit;
  WorkerId worker;
};
using PolicyEvent = std::variant<Arrived, WorkerFree, WorkersChanged, UnitFinished, UnitRecalled>;

struct Assign {
  UnitRef unit;
  WorkerId worker;
};
// The unit waits for that worker (-1: for whichever comes free); only its own stream waits behind.
struct Hold {
  UnitRef unit;
  WorkerId worker;
};
using PolicyAction = std::variant<Assign, Hold>;

// The answer to one event: a fixed number of actions, so that no decision allocates.
class ActionList {
 public:
  static constexpr std::size_t kCapacity = 16;
  // False when the list is full; the action is dropped then.
  bool Add(const PolicyAction& action) {
    if (count_ == kCapacity) return false;
    actions_[count_++] = action;
    return true;
  }
  void Clear() { count_ = 0; }
  [[nodiscard]] std::span<const PolicyAction> actions() const {
    return std::span(actions_).first(count_);
  }

 private:
  std::array<PolicyAction, kCapacity> actions_ = {};
  std::size_t count_ = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void On(const PolicyEvent& event, const PoolState& pool, TimePoint now,
                  ActionList& actions) = 0;
  // Where the stream would go if all queues were empty; what "disruption" is measured from. Depends
  // on the stream and the workers in service, on nothing else. Flat policies keep this one: highest
  // random weight over all workers.
  virtual StreamHome Home(StreamId stream, const PoolState& pool);

 protected:
  explicit Policy(HashKind hash) : hash_(hash) {}
  const HashKind hash_;
};

// Highest random weight over all workers in service but `excluded`; -1 if there is none.
WorkerId HighestWeight(HashKind hash, std::uint64_t key, const PoolState& pool, WorkerId excluded);
// The home of a stream by that weight.
StreamHome FlatHome(HashKind hash, StreamId stream, const PoolState& pool);

}  // namespace gopmill
