// SPDX-License-Identifier: Apache-2.0
//
// How many clients there are of which something is left, and the wait for the last one.
//
// Thread-safety: safe.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/thread_safety.h"

namespace gopmill {

class ClientCount {
 public:
  // Counts one more until what is returned is let go, on whatever thread, while this object is
  // there: its owner ends with AwaitNone.
  std::shared_ptr<void> Enter();
  [[nodiscard]] int here() const;
  // Until there is none; false if not within that time.
  bool AwaitNone(Duration patience);
  void AwaitNone();

 private:
  mutable Mutex mutex_;  // guards what follows
  CondVar left_;
  int here_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gopmill
