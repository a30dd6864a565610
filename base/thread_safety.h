// SPDX-License-Identifier: Apache-2.0
//
// std::mutex with clang's capability annotations (libstdc++ has none), so that the clang-analysis
// preset rejects access to guarded members without the lock. gcc ignores the annotations.
//
// Rules: what a Mutex guards is GOPMILL_GUARDED_BY it, or a comment names it; no callbacks under a
// lock; the order in which two may nest is in docs/THREADS.md, as are the exceptions.
//
// Thread-safety: safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define GOPMILL_ATTRIBUTE(x) __attribute__((x))
#else
#define GOPMILL_ATTRIBUTE(x)
#endif
#define GOPMILL_CAPABILITY(x) GOPMILL_ATTRIBUTE(capability(x))
#define GOPMILL_SCOPED_CAPABILITY GOPMILL_ATTRIBUTE(scoped_lockable)
#define GOPMILL_GUARDED_BY(x) GOPMILL_ATTRIBUTE(guarded_by(x))
#define GOPMILL_REQUIRES(...) GOPMILL_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define GOPMILL_ACQUIRE(...) GOPMILL_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define GOPMILL_RELEASE(...) GOPMILL_ATTRIBUTE(release_capability(__VA_ARGS__))
#define GOPMILL_NO_ANALYSIS GOPMILL_ATTRIBUTE(no_thread_safety_analysis)

namespace gopmill {

class GOPMILL_CAPABILITY("mutex") Mutex {
 public:
  void lock() GOPMILL_ACQUIRE() { mutex_.lock(); }
  void unlock() GOPMILL_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class GOPMILL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GOPMILL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() GOPMILL_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Condition variable over a Mutex. Wait in a loop that tests the condition under the lock.
class CondVar {
 public:
  void Wait(Mutex& mutex) GOPMILL_REQUIRES(mutex) GOPMILL_NO_ANALYSIS {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false when `timeout` passed without a notification.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout)
      GOPMILL_REQUIRES(mutex) GOPMILL_NO_ANALYSIS {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool notified = condition_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace gopmill
