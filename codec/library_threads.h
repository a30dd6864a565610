// SPDX-License-Identifier: Apache-2.0
//
// The threads that an encoder's library starts when it is opened (x265, SVT-AV1, x264 with more
// than one), and the CPU time they take, of which the clock of the thread that encodes tells
// nothing.
//
// They are found in /proc by the name that a thread has from the one that starts it: not those that
// the library names itself, and none where there is no /proc.
//
// Thread-safety: compatible.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "media/target.h"

namespace gopmill {

// Threads that the encoder's library starts for itself when it is opened with one, and room for
// those of others who start theirs just then; 0 = none.
int ThreadsOfLibrary(VideoCodec codec);

class LibraryThreads {
 public:
  // Calls `open`, and knows what threads the calling one has started in it.
  void Watch(const std::function<void()>& open);
  // CPU time so far of the threads watched that have not ended.
  [[nodiscard]] Duration Cpu() const;

 private:
  std::vector<int> ids_;
};

}  // namespace gopmill
