// SPDX-License-Identifier: Apache-2.0
//
// Whether a sound track of a live source has stopped: pictures wait for the sound beside them, so
// somebody has to say when there will be none. A track has stopped when it lies farther behind the
// pictures than it ever did before, by kStoppedSeconds. Pure: it goes by the order in which the
// source's packets come, and by no clock, so that the same packets give the same sound.
//
// Thread-safety: thread-compatible.
#pragma once

#include <algorithm>

namespace gopmill {

// Before the first packet of a track, twice that: publishers begin with what they have.
inline constexpr double kStoppedSeconds = 1.0;
// A track that was once farther behind than this, because its publisher was stuck, is not waited
// for as long the next time.
inline constexpr double kMostBehindSeconds = 10.0;

class SoundWatch {
 public:
  // A packet that ends at `until` comes where pictures have come as far as `pictures`; both in
  // seconds of one clock.
  void OnSound(double until, double pictures) {
    usual_ = std::clamp(pictures - until, begun_ ? usual_ : 0.0, kMostBehindSeconds);
    newest_ = begun_ ? std::max(newest_, until) : until;
    begun_ = true;
  }
  // Pictures have come as far as that.
  [[nodiscard]] bool HasStopped(double pictures) const {
    return pictures - newest_ > usual_ + kStoppedSeconds;
  }

 private:
  bool begun_ = false;
  double newest_ = 0, usual_ = kStoppedSeconds;
};

}  // namespace gopmill
