// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_control.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "codec/crf_scale.h"

namespace gopmill {
namespace {

constexpr double kLowestCrf = 1;
constexpr double kInterStep = 5.4, kKeyStep = 9.3;  // CRF steps that halve a frame
constexpr int kRowStep = 8;                         // every eighth line is looked at

// Fitted (least squares on logarithms) to 2 s units of animation, street scenes, faces and test
// patterns at 128x96 to 1280x720, CRF 17 to 41, preset veryfast. Spread: 0.4 octaves for key
// frames, 0.76 for inter frames.
constexpr double kActivityFloor = 0.2;
struct Fit {
  double constant, spatial, change, pixels;
};
constexpr Fit kKeyFit{5.90, 0.561, -0.114, -0.315};
constexpr Fit kInterFit{4.74, 0.170, 0.437, -0.309};
// How much of the key frame's surprise the inter frames are expected to share.
constexpr double kSharedSurprise = 0.6;

constexpr double kLeastFrames = 0.5;  // that a unit has the bits of, whatever it leaves over
constexpr double kPriorWeight = 4;    // frames the estimate counts for against real ones
constexpr double kMemory = 0.92;      // weight of a frame after one more has been coded
// Added to the estimate for the first frame, for the same reason as the strong brake below.
constexpr double kCaution = 0.5;
// CRF per mini-GOP. Overspending cannot be undone, so the brake is stronger than the accelerator.
constexpr double kMaxStepUp = 5, kMaxStepDown = 2;
// A unit that has learnt something began with a better guess, and where that was wrong the pictures
// have changed.
constexpr double kLearntStepDown = 4;
// A larger exponent makes the worst frames better still, and the mean rate over a minute worse:
// what hard units take is known too late to be saved elsewhere (StreamRate::Lag).
constexpr double kShareOfHard = 0.05;
// Below kTransparentCrf bits are not spent to reach the rate, unless the pictures call for it at
// once: the first guess less this.
constexpr double kFloorDistance = 8;
constexpr double kHorizon = 6;       // frames over which a surplus or debt is spread, at least
constexpr double kLeastShare = 0.2;  // of the mean rate that is left to inter frames in any debt
constexpr double kGroupPerP = 1.4;   // bits of a mini-GOP for those of its P frame, at least
constexpr std::size_t kTail = 8;     // frames that stand for those not seen yet
// A change as large as this many times its neighbours', and in steps, is a cut.
constexpr double kCutRatio = 2.5, kCutChange = 5;

double BitsPerFrame(const Fit& fit, double spatial, double change, double pixels) {
  return fit.constant + fit.spatial * std::log2(spatial + kActivityFloor) +
         fit.change * std::log2(change + kActivityFloor) + (1 + fit.pixels) * std::log2(pixels);
}

// Sum of the absolute differences of two rows. A sum of 32 bits has room for 32,767 of the widest
// samples, and for bytes compilers know one instruction that adds such differences up.
template <class Sample>
std::int64_t RowDifference(const std::uint8_t* a, const std::uint8_t* b, int width) {
  int sum = 0;
  for (int x = 0; x < width; ++x) {
    Sample left{}, right{};
    std::memcpy(&left, a + static_cast<std::size_t>(x) * sizeof(Sample), sizeof(Sample));
    std::memcpy(&right, b + static_cast<std::size_t>(x) * sizeof(Sample), sizeof(Sample));
    sum += std::abs(static_cast<int>(left) - static_cast<int>(right));
  }
  return sum;
}

const std::uint8_t* Row(const AVFrame& frame, int y) {
  return frame.data[0] + std::ptrdiff_t{y} * frame.linesize[0];
}

// Mean over the looked-at rows of difference(row), in 8-bit steps per pixel.
template <class Difference>
double MeanOverRows(const AVFrame& frame, int last_row, const Difference& difference) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const int depth = format == nullptr ? 8 : format->comp[0].depth;
  std::int64_t sum = 0;
  std::int64_t rows = 0;
  for (int y = 0; y < last_row; y += kRowStep, ++rows) sum += difference(y, depth > 8);
  const double pixels = static_cast<double>(std::max<std::int64_t>(rows, 1) * frame.width);
  return static_cast<double>(sum) / pixels / std::exp2(depth - 8);
}

double Change(const AVFrame& a, const AVFrame& b) {
  return MeanOverRows(a, a.height, [&](int y, bool wide) {
    return wide ? RowDifference<std::uint16_t>(Row(a, y), Row(b, y), a.width)
                : RowDifference<std::uint8_t>(Row(a, y), Row(b, y), a.width);
  });
}

// Difference to the right and to the lower neighbour.
double Spatial(const AVFrame& frame) {
  return MeanOverRows(frame, frame.height - 1, [&](int y, bool wide) {
    const std::uint8_t* row = Row(frame, y);
    const int width = frame.width - 1;
    return wide ? RowDifference<std::uint16_t>(row, row + 2, width) +
                      RowDifference<std::uint16_t>(row, Row(frame, y + 1), width)
                : RowDifference<std::uint8_t>(row, row + 1, width) +
                      RowDifference<std::uint8_t>(row, Row(frame, y + 1), width);
  });
}

}  // namespace

RateControl::RateControl(const Unit& unit)
    : aim_(unit.aim),
      pixels_(static_cast<double>(unit.width) * unit.height),
      frames_(unit.frames > 0 ? static_cast<double>(unit.frames) : 2 * unit.fps.ToDouble()),
      target_bits_(unit.aim.bps * std::max(frames_ + unit.unspent, kLeastFrames) /
                   unit.fps.ToDouble()) {}

double RateControl::crf() const { return RoundedCrf(crf_); }

void RateControl::Observe(const AVFrame& frame) {
  const double spatial = Spatial(frame);
  const double change = previous_ == nullptr ? 0 : Change(frame, *previous_);
  seen_.push_back(
      {.change = change,
       .inter = aim_.inter_scale * std::exp2(BitsPerFrame(kInterFit, spatial, change, pixels_)),
       .key = aim_.key_scale * std::exp2(BitsPerFrame(kKeyFit, spatial, change, pixels_))});
  previous_ = av::Ref(frame);
  if (closed_ == 0) Estimate();
}

bool RateControl::IsCut(std::size_t n) const {
  const double before = n > 1 ? seen_[n - 1].change : 0;
  const double after = n + 1 < seen_.size() ? seen_[n + 1].change : 0;
  return seen_[n].change > kCutChange && seen_[n].change > kCutRatio * std::max(before, after);
}

bool RateControl::HasCut(std::size_t first, std::size_t end) const {
  for (std::size_t n = first; n < std::min(end, seen_.size()); ++n) {
    if (IsCut(n)) return true;
  }
  return false;
}

RateControl::Demand RateControl::DemandFrom(std::size_t first, double until) const {
  Demand demand;
  for (std::size_t n = first; n < seen_.size(); ++n) {
    if (n > 0 && !IsCut(n)) {
      demand.inter_bits += seen_[n].inter;
    } else {
      demand.key_bits += seen_[n].key;
    }
  }
  double tail = 0;
  double tail_frames = 0;
  for (std::size_t n = seen_.size() - std::min(kTail, seen_.size()); n < seen_.size(); ++n) {
    if (n == 0 || IsCut(n)) continue;
    tail += seen_[n].inter;
    ++tail_frames;
  }
  if (tail_frames == 0) {
    tail = seen_.back().inter;
    tail_frames = 1;
  }
  const auto covered = static_cast<double>(std::max(seen_.size(), first));
  demand.inter_bits += std::max(until - covered, 0.0) * tail / tail_frames;
  return demand;
}

// The CRF at which the demand takes `bits`: bits fall as it rises, so it is found by halving.
double RateControl::Solve(const Demand& demand, double bits) {
  double low = kLowestCrf;
  double high = kHighestCrf;
  while (high - low > 0.01) {
    const double middle = (low + high) / 2;
    const double taken = demand.key_bits * std::exp2(-middle / kKeyStep) +
                         demand.inter_bits * std::exp2(-middle / kInterStep);
    (taken > bits ? low : high) = middle;
  }
  return low;
}

void RateControl::Estimate() {
  const Demand whole = DemandFrom(0, frames_);
  const double alone = Solve(whole, target_bits_);
  const bool learnt = aim_.usual_crf > 0;
  crf_ = learnt ? Solve(whole, target_bits_ * ShareAt(alone)) : alone + kCaution;
}

RateLesson RateControl::lesson() const {
  return {.key = key_surprise_ * aim_.key_scale,
          .inter = inter_estimated_ > 0 ? inter_taken_ / inter_estimated_ * aim_.inter_scale : 0,
          .crf = coded_ > 0 ? crf_sum_ / static_cast<double>(coded_) : 0,
          .share = share_};
}

void RateControl::Coded(std::int64_t bytes, std::int64_t pts) {
  const double bits = 8.0 * static_cast<double>(bytes);
  crf_sum_ += crf_;
  ++coded_;
  if (closed_ == 0) {
    last_pts_ = pts;
    CodedKey(bits);
    return;
  }
  const bool starts_group = pts > last_pts_;
  if (starts_group) {
    CloseGroup();
    last_pts_ = pts;
  }
  ++group_frames_;
  group_bits_ += bits;
  group_scaled_ += bits * std::exp2(crf_ / kInterStep);
  if (starts_group) Steer();
}

void RateControl::CodedKey(double bits) {
  closed_ = 1;
  closed_pts_ = last_pts_;
  closed_bits_ = bits;
  floor_ = std::min(kTransparentCrf, std::max(crf_ - kFloorDistance, kLowestCrf));
  const double surprise = bits * std::exp2(crf_ / kKeyStep) / seen_.front().key;
  key_surprise_ = surprise;
  const double weight = kPriorWeight * DemandFrom(1, frames_).inter_bits / (frames_ - 1);
  estimated_ = weight;
  taken_ = weight * std::pow(surprise, kSharedSurprise);
  Steer();
}

double RateControl::EstimateFrom(std::size_t first, std::size_t end) const {
  double estimated = 0;
  for (std::size_t n = first; n < std::min(end, seen_.size()); ++n) {
    // A cut takes what a key frame takes, at its own slope.
    estimated +=
        IsCut(n) ? seen_[n].key * std::exp2(crf_ / kInterStep - crf_ / kKeyStep) : seen_[n].inter;
  }
  return estimated;
}

void RateControl::CloseGroup() {
  if (group_frames_ == 0) return;
  const double fading = std::pow(kMemory, static_cast<double>(group_frames_));
  const double estimated = EstimateFrom(closed_, closed_ + group_frames_);
  taken_ = taken_ * fading + group_scaled_;
  estimated_ = estimated_ * fading + estimated;
  if (!HasCut(closed_, closed_ + group_frames_)) {  // estimated as key frames
    inter_taken_ += group_scaled_;
    inter_estimated_ += estimated;
  }
  closed_ += group_frames_;
  closed_pts_ = last_pts_;
  closed_bits_ += group_bits_;
  group_frames_ = 0;
  group_bits_ = group_scaled_ = 0;
}

// A unit that is harder than those before it gets more than they: a viewer sees the worst pictures.
// (An easier one gets no less: later units would not get it soon enough.) It is as hard as the CRF
// is high at which it would take what it is to aim at.
double RateControl::ShareAt(double crf_alone) const {
  if (aim_.usual_crf <= 0) return 1;
  const double octaves = (crf_alone - aim_.usual_crf) / kInterStep;
  return std::clamp(std::exp2(kShareOfHard * octaves), 1.0, aim_.most_share);
}

// By what is known of the unit now.
double RateControl::TakeShare(double scale) {
  Demand whole = DemandFrom(0, frames_);
  whole.key_bits *= key_surprise_;
  whole.inter_bits *= scale;
  share_ = ShareAt(Solve(whole, target_bits_));
  return share_;
}

void RateControl::Steer() {
  const double until = std::max(frames_, static_cast<double>(closed_) + kHorizon);
  Demand demand = DemandFrom(closed_, until);
  // The open group may already say that frames are dearer than estimated.
  double scale = taken_ / estimated_;
  if (group_frames_ > 0) {
    // The group reaches from the closed frames to its P frame.
    const std::size_t pending = closed_ + static_cast<std::size_t>(last_pts_ - closed_pts_);
    const double group = kGroupPerP * group_scaled_;
    scale = std::max(scale, (taken_ + group) / (estimated_ + EstimateFrom(closed_, pending)));
  }
  const double target = target_bits_ * TakeShare(scale);
  const double mean = target / frames_;
  const double left = target + (until - frames_) * mean - closed_bits_;
  const double least = kLeastShare * mean * (until - static_cast<double>(closed_));
  demand.inter_bits *= scale;
  const double down = aim_.usual_crf > 0 ? kLearntStepDown : kMaxStepDown;
  const double ideal = Solve(demand, std::max(left, least));
  crf_ = std::clamp(std::clamp(ideal, crf_ - down, crf_ + kMaxStepUp), floor_, kHighestCrf);
}

}  // namespace gopmill
