// SPDX-License-Identifier: Apache-2.0
//
// Presentations of live sources that are there without anybody asking for them: which (the setting
// `live.presentations`), when one is tried again that could not be made, and what the log hears of
// that. Pure.
//
// Thread-safety: compatible (StandingPace), safe (functions).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/live/live_request.h"

namespace gopmill {

// Half of those that there may be (kMaxLivePresentations): the others are for who asks.
inline constexpr std::size_t kMaxStandingPresentations = 16;

// "cam?width=640&bitrate=600k lobby": NAME or NAME?QUERY as behind /v1/hls/live/, with blanks
// between them. As requests for their master playlists.
Result<std::vector<LiveRequest>> ParseStandingPresentations(std::string_view text,
                                                            const SegmentDefaults& defaults);

// NAME?QUERY, for people; the parameters in a fixed order.
std::string TextOfStanding(const LiveRequest& request);

class StandingPace {
 public:
  // Between two attempts: what a ladder takes to be planned and refused is little against it.
  static constexpr std::chrono::seconds kPause{10};

  [[nodiscard]] bool MayBegin(TimePoint now) const { return now >= next_; }
  void OnAttempt(TimePoint now) { next_ = now + kPause; }
  // It could not begin, or has failed since; may be told again and again. Whether that is news: the
  // same kind of reason is none until something was made, as its numbers change with each attempt.
  bool OnFailure(const Error& why) {
    std::pair<Code, std::string> reason(why.code, why.parameter);
    if (told_ == reason) return false;
    told_ = std::move(reason);
    return true;
  }
  // Something of it has been made. Whether that is news: it had failed before.
  bool OnMade() { return std::exchange(told_, std::nullopt).has_value(); }

 private:
  TimePoint next_ = TimePoint::min();
  std::optional<std::pair<Code, std::string>> told_;
};

}  // namespace gopmill
