// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before a peer is asked again: each failure doubles it, and a peer that has sent
// something for a while begins anew. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/clock.h"

namespace gopmill {

class PullPauses {
 public:
  static constexpr std::chrono::milliseconds kFirst{500};
  static constexpr std::chrono::seconds kLongest{10};
  // The same where name or password are refused: after some attempts cameras lock the account.
  static constexpr std::chrono::seconds kFirstRefused{5};
  static constexpr std::chrono::seconds kLongestRefused{60};
  // A peer that sends for longer than this works.
  static constexpr std::chrono::seconds kWorks{5};

  // `silence`: how long nothing comes from a peer before it counts as a failure.
  explicit PullPauses(Duration silence) : silence_(silence) {}

  void OnAttempt() { sends_since_.reset(); }
  // It is being received; may be called again and again. The time until then counts for nothing: a
  // peer that does not answer is given up late.
  void OnReceived(TimePoint now) {
    if (!sends_since_) sends_since_ = now;
  }
  // The attempt has failed; `refused` as in PullFailure. What to wait from now on.
  Duration OnFailure(TimePoint now, bool refused) {
    if (sends_since_ && now - *sends_since_ > kWorks + silence_) next_ = kFirst;
    next_ =
        refused ? std::max<Duration>(next_, kFirstRefused) : std::min<Duration>(next_, kLongest);
    const Duration pause = next_;
    next_ = std::min<Duration>(2 * next_, refused ? kLongestRefused : kLongest);
    return pause;
  }

 private:
  Duration silence_;
  Duration next_ = kFirst;
  std::optional<TimePoint> sends_since_;
};

}  // namespace gopmill
