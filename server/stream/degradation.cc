// SPDX-License-Identifier: Apache-2.0
#include "server/stream/degradation.h"

#include <algorithm>
#include <bit>

namespace gopmill {

void Degradation::Step(int by, TimePoint now) {
  const bool up = by < 0;
  if (!up && tried_up_ != TimePoint{}) {
    const bool failed = now - tried_up_ < patience_;
    patience_ = failed ? std::min<Duration>(2 * patience_, kLongestPatience) : kFirstPatience;
    tried_up_ = {};
  }
  if (up) tried_up_ = now;
  effort_ = static_cast<Effort>(static_cast<int>(effort_) + by);
  if (effort_ == Effort::kFaster && !steps_.faster) {
    effort_ = static_cast<Effort>(static_cast<int>(effort_) + by);
  }
  since_ = in_time_ = now;
  late_ = seen_ = 0;
}

Effort Degradation::ForUnit(std::int64_t gop_frame, bool ends_gop) {
  const Effort effort = gops_.try_emplace(gop_frame, effort_).first->second;
  if (ends_gop) gops_.erase(gop_frame);
  return effort;
}

// One short unit may well wait for another's key frame: together they must not be late.
bool Degradation::OnUnit(const Made& unit) {
  if (unit.effort != effort_) {
    media_ = {};
    return false;
  }
  if (media_ == Duration::zero()) {
    begun_ = unit.submitted;
    over_ = {};
  }
  media_ += unit.media;
  over_ += unit.finished - unit.due;
  if (media_ < kJudged) return false;
  media_ = {};
  return Judge(begun_, unit.finished, over_ > Duration::zero());
}

bool Degradation::Judge(TimePoint submitted, TimePoint finished, bool late) {
  if (submitted < since_) return false;
  if (since_ == TimePoint{}) since_ = in_time_ = submitted;
  late_ = ((late_ << 1U) | (late ? 1U : 0U)) & ((1U << kWindow) - 1);
  seen_ = std::min<std::uint32_t>(seen_ + 1, kWindow);
  if (late) in_time_ = finished;
  if (std::popcount(late_) >= kLateUnits && effort_ != Lowest()) {
    Step(1, finished);
    return true;
  }
  if (effort_ != Effort::kFull && seen_ == kWindow && finished - in_time_ >= patience_) {
    Step(-1, finished);
    return true;
  }
  return false;
}

}  // namespace gopmill
