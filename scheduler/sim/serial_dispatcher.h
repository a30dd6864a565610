// SPDX-License-Identifier: Apache-2.0
//
// The dispatcher as one thread that does one thing after another: what happens waits in line for
// it, in the order of time, and each unit that it gives to a worker takes it so long,
//
//     given = max(happened, the unit before was given) + decision
//
// The policy sees the pool as it is when the dispatcher gets to the event, and a worker that has
// something in its inbox goes on meanwhile. Events that give no unit to anybody take no time.
// Without time for decisions every action is due when its event happens.
//
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "scheduler/dispatcher.h"

namespace gopmill::sim {

class SerialDispatcher {
 public:
  // `decision` >= 0.
  SerialDispatcher(std::unique_ptr<Dispatcher> dispatcher, Duration decision)
      : dispatcher_(std::move(dispatcher)), decision_(decision) {}

  // Something happened, not before what was added already.
  void Add(DispatcherEvent event) { events_.push_back(std::move(event)); }
  // What is to be done next and due by now; nothing if nothing is. `now` never goes back.
  std::optional<DispatcherAction> Next(TimePoint now);
  // When Next has something, after it had nothing although there is; else nothing.
  [[nodiscard]] std::optional<TimePoint> due() const { return due_; }

  [[nodiscard]] const Dispatcher& dispatcher() const { return *dispatcher_; }

 private:
  const std::unique_ptr<Dispatcher> dispatcher_;
  const Duration decision_;
  std::deque<DispatcherEvent> events_;
  std::vector<DispatcherAction> actions_;  // of the event that it is at
  std::size_t next_ = 0;                   // of these
  std::optional<TimePoint> due_;           // of that one, while it takes time
};

}  // namespace gopmill::sim
