// SPDX-License-Identifier: Apache-2.0
//
// What signals do to a server: SIGHUP reloads it, all others ask for its end, as does SIGHUP of a
// terminal that is gone; an alarm bounds the end, whatever holds main up.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/cli/signals.h"

namespace gopmill::cli {

// All but running streams, which have had their time, must have ended then.
inline constexpr std::chrono::seconds kEndPatience(20);

// Keeps SIGHUP, which ends a process that does not wait for it, for the SignalWatcher of this
// thread that is to come: a service manager may ask for a reload as soon as the program runs.
void HoldHangUp();

// Lets SIGALRM come after `time`, in place of one that was set before. Needs no thread.
void SetAlarm(std::chrono::seconds time);

// A server that was started by hand ends with its terminal, which sends the signal that asks for a
// reload elsewhere: else it would go on behind a closed window and hold its ports. One that has
// outlived its terminal, of which it is not told in the background, is reloaded as any other.
// Thread-safety: safe.
class Terminal {
 public:
  Terminal();
  // Call it now and then, and after that for a signal.
  void Look();
  [[nodiscard]] bool Gone() const;

 private:
  std::atomic<bool> had_;
};

// Signals on their way from the watcher to main. Once the end has begun, one more ends the process
// at once: nothing of a stream is on disk, and its clients see the connection close. The alarm is
// set here, since main may be held by what it reads for a reload.
// Thread-safety: safe; Push is the watcher's, all else main's.
class SignalQueue {
 public:
  // `drain`: as for SetDrain. The terminal must outlive it.
  SignalQueue(const Terminal& terminal, std::chrono::seconds drain);
  // How long running streams may take to end from now on.
  void SetDrain(std::chrono::seconds drain);
  void Push(int signal);
  // The end begins, if it has not: its time counts from the signal that asked for it.
  void EndBegins();
  // SIGHUP for a reload, SIGTERM for the end. None if nothing came for so long.
  std::optional<int> Pop(Duration patience);

 private:
  void Begin() GOPMILL_REQUIRES(mutex_);

  const Terminal& terminal_;
  Mutex mutex_;  // guards all below
  CondVar arrived_;
  std::chrono::seconds drain_ GOPMILL_GUARDED_BY(mutex_) = {};
  bool ending_ GOPMILL_GUARDED_BY(mutex_) = false;  // the alarm is set
  std::deque<int> waiting_ GOPMILL_GUARDED_BY(mutex_);
  Impatience patience_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill::cli
