// SPDX-License-Identifier: Apache-2.0
//
// One thread that runs libevent, and the mailbox through which other threads reach it.
//
// Nothing that runs on the loop may block. SIGPIPE is blocked on the loop thread, so that writing
// to a client that left is an error value and not the end of the program.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/http/event_ptr.h"

namespace gopmill {

// Tasks for a loop. Shared, because callbacks of Service and sinks of streams may outlive the loop:
// what they post after the end is dropped. Thread-safety: safe.
class LoopMailbox {
 public:
  using Task = std::function<void()>;

  // Runs `task` on the loop thread, soon, in the order of the calls. Never runs it here.
  void Post(Task task);

 private:
  friend class EventLoop;
  void Open(event* wake);
  void Close();
  std::vector<Task> TakeAll();

  Mutex mutex_;  // guards the two members below
  std::vector<Task> tasks_ GOPMILL_GUARDED_BY(mutex_);
  event* wake_ GOPMILL_GUARDED_BY(mutex_) = nullptr;  // null: not open, or closed
};

// Thread-safety: Create, Start and Stop belong to the owner's thread; base() may be used before
// Start, after Stop, and on the loop thread.
class EventLoop {
 public:
  static Result<std::unique_ptr<EventLoop>> Create();
  ~EventLoop();  // stops
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // kUnavailable where the machine has no more threads.
  Status Start();
  // Ends the thread and joins it. Tasks that have not run are dropped. May be called again.
  void Stop();

  [[nodiscard]] event_base* base() const { return base_.get(); }
  [[nodiscard]] const std::shared_ptr<LoopMailbox>& mailbox() const { return mailbox_; }

 private:
  EventLoop() = default;
  static void OnWake(int fd, short what, void* self) noexcept;
  void Run() noexcept;

  EventBasePtr base_;
  EventPtr wake_;
  std::shared_ptr<LoopMailbox> mailbox_ = std::make_shared<LoopMailbox>();
  std::jthread thread_;
};

}  // namespace gopmill
