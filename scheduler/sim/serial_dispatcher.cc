// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/serial_dispatcher.h"

#include <utility>
#include <variant>

namespace gopmill::sim {

std::optional<DispatcherAction> SerialDispatcher::Next(TimePoint now) {
  while (next_ == actions_.size()) {
    actions_.clear();
    next_ = 0;
    if (events_.empty()) return std::nullopt;
    DispatcherEvent event = std::move(events_.front());
    events_.pop_front();
    dispatcher_->Step(std::move(event), now, actions_);
  }
  const bool takes_time =
      decision_ > Duration::zero() && std::holds_alternative<StartAction>(actions_[next_]);
  if (takes_time && !due_) due_ = now + decision_;
  if (due_ && now < *due_) return std::nullopt;
  due_.reset();
  return std::move(actions_[next_++]);
}

}  // namespace gopmill::sim
