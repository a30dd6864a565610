// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_count.h"

namespace gopmill {

std::shared_ptr<void> ClientCount::Enter() {
  {
    const MutexLock lock(mutex_);
    ++here_;
  }
  const auto leave = [](ClientCount* count) {
    const MutexLock lock(count->mutex_);
    --count->here_;
    count->left_.NotifyAll();
  };
  return std::shared_ptr<ClientCount>(this, leave);
}

int ClientCount::here() const {
  const MutexLock lock(mutex_);
  return here_;
}

bool ClientCount::AwaitNone(Duration patience) {
  const TimePoint deadline = SteadyNow() + patience;
  const MutexLock lock(mutex_);
  while (here_ > 0 && SteadyNow() < deadline) left_.WaitFor(mutex_, deadline - SteadyNow());
  return here_ == 0;
}

void ClientCount::AwaitNone() {
  const MutexLock lock(mutex_);
  while (here_ > 0) left_.Wait(mutex_);
}

}  // namespace gopmill
