// SPDX-License-Identifier: Apache-2.0
//
// What segments have been decoded with, for those behind them: who plays a movie from one segment
// to the next has each GOP of its source decoded once, however many segments it is shown in.
//
// A run is taken by one segment, and does not come back. Kept are at most so many bytes of them, by
// their estimated memory, or one that is larger. Where there is no room, those go that have waited
// for longer than kRunWanted; if that does not make any, a new one is not kept: with more viewers
// than there are places for, some go on each time, and not all of them never.
//
// Thread-safety: safe. Runs that go are destroyed by who called, which takes milliseconds at most.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "codec/frame_selector.h"

namespace gopmill {

// Of a server: nine of 1080p with 8 bits, or one of 2160p with 10.
inline constexpr std::size_t kMaxKeptRunBytes = std::size_t{256} << 20U;
// A player that plays asks for a segment within the length of one.
inline constexpr std::chrono::seconds kRunWanted{20};

class RunShelf {
 public:
  explicit RunShelf(std::size_t most_bytes = kMaxKeptRunBytes) : most_bytes_(most_bytes) {}

  // `key`: of the segment that goes on with it; replaces one that is kept for it. `now`, for tests.
  void Put(std::string key, std::unique_ptr<FrameSelector> run, TimePoint now = SteadyNow());
  // Null where there is none.
  std::unique_ptr<FrameSelector> Take(const std::string& key);
  // Lets go of what was put in before `time`.
  void Drop(TimePoint time);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Kept {
    std::string key;
    std::unique_ptr<FrameSelector> run;
    std::size_t bytes = 0;
    TimePoint since;
  };
  Kept TakeOut(std::deque<Kept>::iterator kept) GOPMILL_REQUIRES(mutex_);

  const std::size_t most_bytes_;
  mutable Mutex mutex_;                               // guards what follows
  std::deque<Kept> kept_ GOPMILL_GUARDED_BY(mutex_);  // in the order in which they came
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gopmill
