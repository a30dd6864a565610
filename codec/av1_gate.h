// SPDX-License-Identifier: Apache-2.0
//
// Keeps SVT-AV1 encoders from being opened while others encode. The library (up to 3.x) fills
// tables of the whole process each time an encoder is opened; one that encodes meanwhile finds
// pointers to wedge masks missing and crashes the process (SVT-AV1 merge request 2605; seen in one
// of sixty runs of two seconds).
//
// And each that is closed frees a table of the process that all share (its processors, 1.4): two
// that are closed at once free it twice.
//
// So encoders are opened when none encodes, and those that are ready wait a moment for others that
// want to be opened: workers then encode their units side by side, batch by batch. The price is
// that a worker waits for the slowest unit of the batch before it.
//
// Guarantees: no waiting in circles as long as a thread opens its encoders before it starts them.
// Thread-safety: safe; one for the process. An encoder stays on one thread.
#pragma once

#include "base/clock.h"
#include "base/thread_safety.h"

namespace gopmill {

class Av1Gate {
 public:
  static Av1Gate& Instance();

  // Around the opening of an encoder. Waits until none encodes.
  void BeginOpening();
  void EndOpening();
  // Around the closing of an encoder. Waits until no other is being closed.
  void BeginClosing();
  void EndClosing();
  // Before an encoder's first frame, and after it has been closed.
  void BeginEncoding();
  void EndEncoding();
  // How long the calling thread has waited in gates, ever.
  static Duration WaitedHere();

 private:
  Mutex mutex_;  // guards all below
  CondVar changed_;
  int wanted_ GOPMILL_GUARDED_BY(mutex_) = 0;     // threads that open or wait for it
  int encoding_ GOPMILL_GUARDED_BY(mutex_) = 0;   // encoders
  int returning_ GOPMILL_GUARDED_BY(mutex_) = 0;  // have ended and not come again
  bool opening_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool closing_ GOPMILL_GUARDED_BY(mutex_) = false;
  TimePoint last_end_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
