// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <ctime>

namespace gopmill {

Duration ThreadCpuNow() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace gopmill
