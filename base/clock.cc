// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace gopmill {

Duration ThreadCpuNow() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

bool SleepUntil(TimePoint when, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_until(lock, stop, when, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace gopmill
