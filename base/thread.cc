// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <cstddef>
#include <latch>
#include <vector>

namespace gopmill {

bool HasThreads(int count) {
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

}  // namespace gopmill
