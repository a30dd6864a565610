// SPDX-License-Identifier: Apache-2.0
#include "media/decode_times.h"

#include <algorithm>

namespace gopmill {
namespace {
constexpr int kMaxDelay = 16;  // H.264 and HEVC
}

std::int64_t DecodeTimes::Next(std::int64_t pts) {
  // More reordering than was announced, or a jump back: begin anew.
  if (last_ && pts < *last_) {
    const bool reordered = *last_ - pts <= kMaxDelay * frame_;
    if (reordered) delay_ = std::min(delay_ + 1, kMaxDelay);
    waiting_.clear();
  }
  for (int i = static_cast<int>(waiting_.size()); i < delay_; ++i) {
    waiting_.insert(pts - (i + 1) * frame_);
  }
  waiting_.insert(pts);
  last_ = waiting_.extract(waiting_.begin()).value();
  return *last_;
}

}  // namespace gopmill
