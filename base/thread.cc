// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <cstddef>
#include <latch>
#include <vector>

#include "base/thread_safety.h"

namespace gopmill {
namespace {

Mutex looking;

bool CanStart(int count) GOPMILL_REQUIRES(looking) {
  std::latch all(1);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  // Before the threads are joined, also where there is no memory for the next one.
  const struct Release {
    std::latch& latch;
    ~Release() { latch.count_down(); }
  } release{all};
  while (static_cast<int>(threads.size()) < count) {
    auto thread = StartThread([&all] { all.wait(); });
    if (!thread.ok()) break;
    threads.push_back(*std::move(thread));
  }
  return static_cast<int>(threads.size()) == count;
}

}  // namespace

bool HasThreads(int count) {
  const MutexLock lock(looking);
  return CanStart(count);
}

Status UseThreads(int count, const std::function<Status()>& use) {
  const MutexLock lock(looking);
  return CanStart(count) ? use() : Status(NoMoreThreads());
}

}  // namespace gopmill
