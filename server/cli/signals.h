// SPDX-License-Identifier: Apache-2.0
//
// Signals as calls on a thread of their own: nothing runs inside a signal handler.
//
// Guarantee: from construction on, the signals named are blocked in the calling thread and in every
// thread it starts later, and each one that arrives becomes one call of `on_signal`. Make it before
// any other thread. Signals stay blocked after destruction.
//
// Thread-safety: compatible; `on_signal` runs on the watcher's thread, one call at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gopmill::cli {

class SignalWatcher {
 public:
  static Result<std::unique_ptr<SignalWatcher>> Start(const std::vector<int>& signals,
                                                      std::function<void(int)> on_signal);
  ~SignalWatcher();  // waits for a call that is running
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  struct Impl;
  explicit SignalWatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Tells a second Ctrl-C from the echo of the first: shells and wrappers such as timeout(1) often
// signal both the process and its group. Compatible (one caller at a time).
class Impatience {
 public:
  // True if this request to end comes at least half a second after the first one.
  bool OnRequest(TimePoint now);

 private:
  std::optional<TimePoint> first_;
};

}  // namespace gopmill::cli
