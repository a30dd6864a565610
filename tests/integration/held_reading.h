// SPDX-License-Identifier: Apache-2.0
//
// Reads movies as ever, or holds whoever reads one until it is let go; counts who has begun.
//
// Thread-safety: safe.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "media/segment_reader.h"

namespace gopmill::test {

class HeldReading {
 public:
  void Hold() { Set(true); }
  void Release() { Set(false); }
  // Waits until so many have begun to read; false after ten seconds.
  bool AwaitReads(int count) {
    const MutexLock lock(mutex_);
    while (reads_ < count) {
      if (!changed_.WaitFor(mutex_, std::chrono::seconds(10))) return false;
    }
    return reads_ == count;
  }
  int reads() {
    const MutexLock lock(mutex_);
    return reads_;
  }
  // A MovieShelf::Indexer.
  Result<std::shared_ptr<const SourceIndex>> Index(UniqueFd fd, const std::stop_token& stop,
                                                   int audio_track,
                                                   std::vector<SubtitleTrack> beside) {
    {
      const std::stop_callback wake(stop, [this] { changed_.NotifyAll(); });
      const MutexLock lock(mutex_);
      ++reads_;
      changed_.NotifyAll();
      while (held_ && !stop.stop_requested()) {
        changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
      }
    }
    return IndexSource(std::move(fd), stop, audio_track, std::move(beside));
  }

 private:
  void Set(bool held) {
    const MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  Mutex mutex_;
  CondVar changed_;
  bool held_ GOPMILL_GUARDED_BY(mutex_) = false;
  int reads_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gopmill::test
