// SPDX-License-Identifier: Apache-2.0
//
// Starting a thread: where the machine has none left std::jthread throws, and nothing of ours does.
//
// To be called when all that the thread uses is complete, not in a constructor: an object whose
// constructor fails has no destructor that ends the threads it has already.
//
// Thread-safety: safe.
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace gopmill {

inline Error NoMoreThreads(int native = 0) {
  return Error{
      .code = Code::kUnavailable, .message = "The machine has no more threads.", .native = native};
}

// `run` as std::jthread takes it. kUnavailable if there is no thread for it.
template <class Run>
Result<std::jthread> StartThread(Run&& run) {
  try {
    return std::jthread(std::forward<Run>(run));
  } catch (const std::system_error& failure) {
    return NoMoreThreads(failure.code().value());
  }
}

// Whether so many more can be had now: starts them and ends them again. For libraries that wait for
// ever for a thread that they could not start. One look at a time in the process.
bool HasThreads(int count);
// Calls `use`, which starts up to `count`, if so many can be had: no look takes them away
// meanwhile. kUnavailable if they cannot.
Status UseThreads(int count, const std::function<Status()>& use);

}  // namespace gopmill
