// SPDX-License-Identifier: Apache-2.0
#include "codec/stream_rate.h"

#include <algorithm>
#include <cmath>

#include "codec/unit_transcoder.h"

namespace gopmill {
namespace {

// Units in work at once: at the beginning, one more for so many units, at most.
constexpr std::int64_t kFirstLag = 8, kLagGrowth = 8, kLongestLag = 64;
constexpr std::int64_t kSampled = 12;     // newest units that have been made and are looked at
constexpr std::int64_t kLeastSample = 2;  // fewer say nothing
// Units by which the lag is longer than this one lengthen both the sample and the time in which a
// debt is paid, so many times. Without it, content that missed its budgets by 4 % in alternate
// minutes made minutes of 0.84 to 1.16 times the rate (8 is where more gave nothing).
constexpr std::int64_t kShortLag = 13, kPatience = 8;
constexpr std::int64_t kKept = kLongestLag + kSampled + kPatience * (kLongestLag - kShortLag);

constexpr double kHorizonSeconds = 10;
// Bits over or left over that are made up for: those of so many seconds at most.
constexpr double kLongestDebt = 10;
constexpr double kLeastAim = 0.8, kMostAim = 1.25;  // of a unit's budget
// How far units miss what they aim at, as far as it is believed to go on.
constexpr double kLeastMiss = 0.9, kMostMiss = 1.1;
// Of the scales' logarithms: later pictures are like the earlier ones, not the same.
constexpr double kBelief = 0.8;
constexpr double kMostScale = 8;
constexpr std::int64_t kShared =
    4;  // newest of the sample, whose shares units in work may have too

std::int64_t Patience(std::int64_t n) {
  return kPatience * std::max<std::int64_t>(0, StreamRate::Lag(n) - kShortLag);
}

double Scale(double octaves, double count) {
  return count > 0 ? std::clamp(std::exp2(kBelief * octaves / count), 1 / kMostScale, kMostScale)
                   : 1;
}

}  // namespace

bool StreamRate::Applies(const EncoderSpec& spec) {
  // x265 meets the rate of single units within 2 %.
  return spec.rate_mode == RateMode::kBitrate && spec.quality == Quality::kNormal &&
         !spec.low_delay && spec.codec != VideoCodec::kHevc;
}

std::int64_t StreamRate::Lag(std::int64_t n) {
  return std::min(kFirstLag + n / kLagGrowth, kLongestLag);
}

void StreamRate::OnPlanned(const UnitSpec& unit) {
  const double seconds = static_cast<double>(unit.frame_count()) / fps_;
  const double budget = static_cast<double>(unit.budget_bps) * seconds;
  units_.push_back({.seconds = seconds, .budget = budget});
}

void StreamRate::OnEnded(UnitIndex unit, const UnitStats& stats) {
  Unit& ended = At(unit.value);
  ended.ended = true;
  ended.bits = 8.0 * static_cast<double>(stats.bytes);
  ended.lesson = stats.lesson;
  ended.again = stats.aimed_otherwise;
  const std::int64_t end = first_ + static_cast<std::int64_t>(units_.size());
  while (all_ended_ < end && At(all_ended_).ended) ++all_ended_;
}

bool StreamRate::Knows(UnitIndex unit) const { return unit.value - Lag(unit.value) <= all_ended_; }

// In order, whoever asks first: what a unit gets depends on what those before it got.
RateAim StreamRate::AimOf(UnitIndex unit) {
  for (; next_ <= unit.value; ++next_) Choose(next_);
  const RateAim aim = At(unit.value).aim;
  Forget();
  return aim;
}

// All but the rate, of which it tells the part that units take of what they aim at.
RateAim StreamRate::LearnFrom(std::int64_t end, std::int64_t sample) {
  double units = 0, crf = 0, key = 0, inter = 0, inters = 0, taken = 0, aimed = 0;
  for (std::int64_t i = std::max(first_, end - sample); i < end; ++i) {
    const Unit& unit = At(i);
    taken += unit.again ? 0 : unit.bits;
    aimed += unit.again ? 0 : unit.aim.bps * unit.lesson.share * unit.seconds;
    if (unit.lesson.key <= 0) continue;
    ++units;
    crf += unit.lesson.crf;
    key += std::log2(unit.lesson.key);
    if (unit.lesson.inter <= 0) continue;  // a unit of one picture
    ++inters;
    inter += std::log2(unit.lesson.inter);
  }
  return {.bps = aimed > 0 ? std::clamp(taken / aimed, kLeastMiss, kMostMiss) : 1,
          .usual_crf = units > 0 ? crf / units : 0,
          .key_scale = Scale(key, units),
          .inter_scale = Scale(inter, inters)};
}

// Of the units before `end`, and as it is expected to go on.
double StreamRate::ShareOf(std::int64_t end) {
  double sum = 0, count = 0;
  for (std::int64_t i = std::max(first_, end - kShared); i < end; ++i, ++count) {
    sum += At(i).lesson.share;
  }
  return sum / count;
}

void StreamRate::Choose(std::int64_t n) {
  const std::int64_t known = n - Lag(n);  // all before it have ended
  Unit& unit = At(n);
  unit.intended = unit.budget;
  unit.aim = {.bps = unit.budget / unit.seconds};
  for (; counted_ < known; ++counted_) overspent_ += At(counted_).bits - At(counted_).budget;
  if (known < kLeastSample) return;
  const double longest = kLongestDebt * unit.budget / unit.seconds;
  overspent_ = std::clamp(overspent_, -longest, longest);
  double overspent = overspent_;
  const double share = ShareOf(known);
  for (std::int64_t i = known; i < n; ++i) overspent += At(i).intended * share - At(i).budget;
  const double horizon = kHorizonSeconds + static_cast<double>(Patience(n)) * unit.seconds;
  unit.intended = std::clamp(unit.budget - overspent * std::min(1.0, unit.seconds / horizon),
                             kLeastAim * unit.budget, kMostAim * unit.budget);
  unit.aim = LearnFrom(known, kSampled + Patience(n));
  const double miss = unit.aim.bps;
  unit.aim.bps = unit.intended / unit.seconds / miss;
  if (maxrate_ > 0) Cap(unit, miss);
}

void StreamRate::Cap(Unit& unit, double miss) const {
  const double most = std::max(static_cast<double>(maxrate_), unit.budget / unit.seconds);
  unit.aim.bps = std::min(unit.aim.bps, most);
  unit.aim.most_share = std::min(unit.aim.most_share, most / unit.aim.bps);
  unit.intended = std::min(unit.intended, unit.aim.bps * unit.seconds * miss);
}

// What neither a sample nor the sum of what was overspent can ask for any more.
void StreamRate::Forget() {
  const std::int64_t oldest = std::min({next_, all_ended_, counted_}) - kKept;
  for (; first_ < oldest; ++first_) units_.pop_front();
}

}  // namespace gopmill
