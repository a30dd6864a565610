// SPDX-License-Identifier: Apache-2.0
//
// Whether something does not happen. Code that is right passes however slow the machine is.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace gopmill {

// A fixed wait, since nothing tells of what does not happen.
inline bool StaysFalse(const std::atomic<bool>& happened) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(100);
  while (!happened && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return !happened;
}

}  // namespace gopmill
