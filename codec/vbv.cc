// SPDX-License-Identifier: Apache-2.0
#include "codec/vbv.h"

#include <algorithm>

namespace gopmill {
namespace {
constexpr double kStartFullness = 0.5;
constexpr double kSafety = 0.95;    // aim a little lower than what would just fit
constexpr double kStrongest = 0.5;  // one pass may not ask for less than this share
}  // namespace

VbvModel::VbvModel(std::int64_t maxrate, std::int64_t bufsize, Rational fps)
    : fill_per_frame_(static_cast<double>(maxrate) / fps.ToDouble()),
      size_(static_cast<double>(bufsize)),
      start_(size_ * kStartFullness),
      level_(start_),
      lowest_(start_) {}

void VbvModel::Add(std::int64_t bytes) {
  const double bits = 8.0 * static_cast<double>(bytes);
  taken_ += bits;
  filled_ += fill_per_frame_;
  level_ -= bits;
  lowest_ = std::min(lowest_, level_);
  if (level_ < 0) underflowed_ = true;
  level_ = std::min(size_, level_ + fill_per_frame_);
}

double VbvModel::CorrectionFactor() const {
  double factor = 1.0;
  if (level_ < start_ && taken_ > 0) factor = std::min(factor, filled_ / taken_);
  if (lowest_ < 0) factor = std::min(factor, start_ / (start_ - lowest_));
  return std::clamp(factor * kSafety, kStrongest, kSafety);
}

VbvLedger::VbvLedger(std::int64_t maxrate, std::int64_t bufsize, Rational fps)
    : fill_per_frame_(static_cast<double>(maxrate) / fps.ToDouble()),
      size_(static_cast<double>(bufsize)),
      level_(size_ * kStartFullness),
      lowest_(level_) {}

bool VbvLedger::Add(std::int64_t bytes) {
  const double left = level_ - 8.0 * static_cast<double>(bytes);
  lowest_ = std::min(lowest_, left);
  const bool in_time = left >= 0;
  if (!in_time) ++underflows_;
  level_ = std::min(size_, std::max(left, 0.0) + fill_per_frame_);
  return in_time;
}

}  // namespace gopmill
