// SPDX-License-Identifier: Apache-2.0
#include "media/audio_timeline.h"

#include <algorithm>
#include <cstdlib>

namespace gopmill {
namespace {

constexpr std::int64_t kGapMs = 20;
constexpr std::int64_t kOffsetMs = 2;

}  // namespace

std::int64_t AudioTimeline::expected() const {
  return rate_ == 0 ? 0 : anchor_ + Rescale(count_, {1, rate_}, time_base_);
}

void AudioTimeline::Anchor(std::int64_t pts, int rate) {
  anchor_ = pts;
  rate_ = rate;
  count_ = 0;
  off_for_ = 0;
  lost_ = false;
}

// Whether the times have been off to one side for a second, this frame included.
bool AudioTimeline::Persists(std::int64_t difference, int samples) {
  const bool late = difference > 0;
  if (std::llabs(difference) * 1000 <= kOffsetMs * rate_) {
    off_for_ = 0;
  } else if (off_for_ > 0 && late != off_late_) {
    off_for_ = samples;
  } else {
    off_for_ += samples;
  }
  off_late_ = late;
  return off_for_ >= rate_;
}

// In samples.
std::int64_t AudioTimeline::Tolerance() const {
  if (lost_) return kOffsetMs * rate_ / 1000;
  const std::int64_t gap = kGapMs * rate_ / 1000;
  return blocks_vary_ ? std::max<std::int64_t>(gap, longest_) : gap;
}

bool AudioTimeline::CarriesOn(std::optional<std::int64_t> pts, int samples, int rate) {
  longest_ = std::max(longest_, samples);
  if (rate_ == 0 || rate != rate_) {
    Anchor(pts.value_or(expected()), rate);
    count_ = samples;
    return false;
  }
  bool carries_on = true;
  if (pts) {
    const Rational sample{1, rate};
    const std::int64_t difference =
        Rescale(*pts - anchor_, time_base_, sample) - count_;  // in samples, late is positive
    const bool broken = Rational{std::llabs(difference), rate} > longest_gap_;
    const bool off = std::llabs(difference) > Tolerance();
    lost_ = false;
    if (broken || off || Persists(difference, samples)) {
      carries_on = broken;
      Anchor(*pts, rate);
    }
  }
  count_ += samples;
  return carries_on;
}

}  // namespace gopmill
