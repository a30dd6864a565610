// SPDX-License-Identifier: Apache-2.0
#include "server/http/event_loop.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>

#include <csignal>
#include <mutex>
#include <utility>

#include "base/thread.h"

namespace gopmill {

void LoopMailbox::Post(Task task) {
  Task dropped;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  if (wake_ == nullptr) {
    dropped = std::move(task);
    return;
  }
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) event_active(wake_, EV_READ, 0);
}

void LoopMailbox::Open(event* wake) {
  MutexLock lock(mutex_);
  wake_ = wake;
}

void LoopMailbox::Close() {
  std::vector<Task> dropped;
  MutexLock lock(mutex_);
  wake_ = nullptr;
  dropped.swap(tasks_);
}

std::vector<LoopMailbox::Task> LoopMailbox::TakeAll() {
  MutexLock lock(mutex_);
  return std::exchange(tasks_, {});
}

Result<std::unique_ptr<EventLoop>> EventLoop::Create() {
  // Before any event_base: makes event_active from other threads wake the loop.
  static std::once_flag once;
  static int threads = -1;
  std::call_once(once, [] { threads = evthread_use_pthreads(); });
  std::unique_ptr<EventLoop> loop(new EventLoop);
  if (threads == 0) loop->base_.reset(event_base_new());
  if (loop->base_ == nullptr) return InternalError("The event loop cannot be made.");
  loop->wake_.reset(event_new(loop->base(), -1, 0, &EventLoop::OnWake, loop.get()));
  if (loop->wake_ == nullptr) return InternalError("The event loop cannot be made.");
  loop->mailbox_->Open(loop->wake_.get());
  return loop;
}

EventLoop::~EventLoop() { Stop(); }

Status EventLoop::Start() {
  GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return OkStatus();
}

void EventLoop::Stop() {
  if (thread_.joinable()) {
    mailbox_->Post([this] { event_base_loopbreak(base()); });
    thread_.join();
  }
  mailbox_->Close();
}

void EventLoop::OnWake(int /*fd*/, short /*what*/, void* self) noexcept {
  for (LoopMailbox::Task& task : static_cast<EventLoop*>(self)->mailbox_->TakeAll()) task();
}

void EventLoop::Run() noexcept {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  pthread_setname_np(pthread_self(), "http");
  event_base_loop(base(), EVLOOP_NO_EXIT_ON_EMPTY);
}

}  // namespace gopmill
