// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <latch>
#include <vector>

namespace gopmill {

bool HasThreads(int count) {
  std::latch all(1);
  std::vector<std::jthread> threads;  // joined behind the count
  while (static_cast<int>(threads.size()) < count) {
    auto thread = StartThread([&all] { all.wait(); });
    if (!thread.ok()) break;
    threads.push_back(*std::move(thread));
  }
  all.count_down();
  return static_cast<int>(threads.size()) == count;
}

}  // namespace gopmill
