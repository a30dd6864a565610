// SPDX-License-Identifier: Apache-2.0
//
// What the clock of a live source's reader has to do with the clock on the wall. The reader's clock
// goes on without a jump; what really happened lies in stretches of it: a new one begins where the
// source broke off (packets were lost, its publisher came back, its own clock leapt).
//
// Within a stretch both clocks run alike, from the earliest arrival in relation to its time among
// the pictures seen until somebody asked: a burst at the start (what a demuxer had to read first)
// does not count as lateness of what follows. Where dates leap forward by more than kEarlyDrift
// before that, the clock on the wall was set, and the stretch goes by what it says then.
//
// A stretch that is early by less than kEarlyDrift is dated as what was before it leads to: dates
// do not go back for what a publisher had in hand. One that is earlier, behind a publisher who sent
// faster than in real time, is dated as it came, and what is dated later and came before it is
// over.
//
// The source's clock may run faster or slower than the one on the wall. Once a stretch is out by
// more than one of the limits below, the next begins, dated anew.
//
// Thread-safety: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "base/clock.h"
#include "base/thread_safety.h"

namespace gopmill {

// Stretches remembered; asking for an older one gives the oldest.
inline constexpr std::size_t kKeptStretches = 64;
// Pictures come later than a stretch has it: players ask for what is not there. Or earlier: what is
// there waits, which costs delay alone.
inline constexpr std::chrono::milliseconds kLateDrift{200}, kEarlyDrift{1000};
// On the reader's clock; who sends far faster than in real time does not make more of them.
inline constexpr std::chrono::seconds kLeastStretch{30};

class LiveClock {
 public:
  struct Stretch {
    std::int64_t number = 0;     // from 0
    std::int64_t publisher = 0;  // of its pictures (Arrival)
    std::int64_t start_ns = 0;   // on the reader's clock
    WallTime zero = {};          // when the reader's clock would have been 0
    [[nodiscard]] WallTime WallOf(std::int64_t clock_ns) const {
      return zero +
             std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(clock_ns));
    }
  };

  // A picture has come that is shown at `clock_ns` and decoded at `decoded_ns`. Lateness that is
  // the network's or the machine's is no longer in `wall` (see Arrival).
  void OnPicture(std::int64_t clock_ns, std::int64_t decoded_ns, WallTime wall, bool after_gap,
                 std::int64_t publisher = 0);
  // The stretch that `clock_ns` lies in; one that begins at most `slack_ns` later counts. Its zero
  // does not change any more.
  Stretch At(std::int64_t clock_ns, std::int64_t slack_ns);
  // Number of the one that the newest picture lies in.
  [[nodiscard]] std::int64_t newest() const;

 private:
  struct Entry {
    Stretch stretch;
    bool fixed = false;
    // When the clock of decoding would have been 0, by the newest picture until it was fixed.
    WallTime decoding_zero = {};
  };
  void Begin(const Entry& entry) GOPMILL_REQUIRES(mutex_);
  void FollowDrift(std::int64_t clock_ns, WallTime decoding_zero) GOPMILL_REQUIRES(mutex_);

  mutable Mutex mutex_;  // guards all below
  std::deque<Entry> stretches_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
