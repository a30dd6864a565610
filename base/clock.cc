// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace gopmill {

namespace {

Duration Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Duration ThreadCpuNow() { return Read(CLOCK_THREAD_CPUTIME_ID); }
Duration ProcessCpuNow() { return Read(CLOCK_PROCESS_CPUTIME_ID); }

bool SleepUntil(TimePoint when, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_until(lock, stop, when, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace gopmill
