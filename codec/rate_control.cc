// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_control.h"

#include <algorithm>
#include <cmath>

#include "codec/crf_scale.h"
#include "codec/picture_activity.h"

namespace gopmill {
namespace {

constexpr double kLowestCrf = 1;
constexpr double kInterStep = 5.4, kKeyStep = 9.3;  // CRF steps that halve a frame

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
constexpr double kCutPrior = 0.5;     // cuts that the key frame counts for
constexpr double kRefuted = 2;        // octaves by which the first mini-GOP ends the prior
constexpr double kMisjudged = 7;      // CRF
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
// Its neighbours are the next that move: up to so many pictures in between are equal to the one
// before (15 pictures a second shown at 60).
constexpr std::size_t kMostRepeats = 3;
// A repeated picture takes so much of what the fit says of one that hardly moves.
constexpr double kRepeatedBits = 0.1;

double BitsPerFrame(const Fit& fit, double spatial, double change, double pixels) {
  return fit.constant + fit.spatial * std::log2(spatial + kActivityFloor) +
         fit.change * std::log2(change + kActivityFloor) + (1 + fit.pixels) * std::log2(pixels);
}

// Noise, bits per pixel: fitted to noise of 2 to 50 steps over still, street and animated pictures,
// CRF 12 to 51. From where it begins to be seen it falls by as much with each step of the CRF, to
// nothing.
constexpr double kNoiseZero = 14,
                 kNoiseZeroPerOctave = 4.5;  // the CRF at which it would be nothing
constexpr double kNoiseSlope = 0.262, kNoiseBend = 0.2;

double NoiseZero(double noise) { return kNoiseZero + kNoiseZeroPerOctave * std::log2(noise); }

double NoiseBitsPerPixel(double zero, double crf) {
  return kNoiseBend * std::log1p(std::exp(kNoiseSlope * (zero - crf) / kNoiseBend));
}

}  // namespace

RateControl::RateControl(const Unit& unit)
    : aim_(unit.aim),
      pixels_(static_cast<double>(unit.width) * unit.height),
      frames_(FramesAssumed(unit.frames, unit.fps)),
      target_bits_(unit.aim.bps * std::max(frames_ + unit.unspent, kLeastFrames) /
                   unit.fps.ToDouble()) {}

double RateControl::crf() const { return RoundedCrf(crf_); }

void RateControl::Observe(const AVFrame& frame) {
  const double spatial = SpatialActivity(frame);
  const PictureChange change = previous_ ? ChangeBetween(*previous_, frame) : PictureChange{};
  const bool repeated = previous_ && change.mean == 0;
  // What is left of it without the noise.
  const double moved =
      std::sqrt(std::max(change.mean * change.mean - change.noise * change.noise, 0.0));
  const double inter = std::exp2(BitsPerFrame(kInterFit, spatial, moved, pixels_));
  seen_.push_back(
      {.change = change.mean,
       .inter = aim_.inter_scale * (repeated ? kRepeatedBits : 1) * inter,
       .key = aim_.key_scale * std::exp2(BitsPerFrame(kKeyFit, spatial, change.mean, pixels_)),
       .noise_pixels = aim_.inter_scale * change.noisy * pixels_,
       .noise_zero = change.noisy > 0 ? NoiseZero(change.noise) : 0});
  previous_ = av::Ref(frame);
  if (closed_ == 0) Estimate();
}

bool RateControl::IsCut(std::size_t n) const {
  if (seen_[n].change <= kCutChange) return false;
  std::size_t last = n - 1, next = n + 1;
  while (last > 0 && n - last <= kMostRepeats && seen_[last].change == 0) --last;
  while (next < seen_.size() && next - n <= kMostRepeats && seen_[next].change == 0) ++next;
  const double before = last > 0 ? seen_[last].change : 0;
  const double after = next < seen_.size() ? seen_[next].change : 0;
  return seen_[n].change > kCutRatio * std::max(before, after);
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
      demand.AddInter(seen_[n], 1);
    } else {
      (n > 0 ? demand.cut_bits : demand.key_bits) += seen_[n].key;
    }
  }
  std::size_t tail = 0;
  const std::size_t begin = seen_.size() - std::min(kTail, seen_.size());
  for (std::size_t n = begin; n < seen_.size(); ++n) tail += n > 0 && !IsCut(n) ? 1U : 0U;
  const auto covered = static_cast<double>(std::max(seen_.size(), first));
  const double rest = std::max(until - covered, 0.0);
  if (tail == 0) demand.AddInter(seen_.back(), rest);
  for (std::size_t n = begin; n < seen_.size(); ++n) {
    if (n > 0 && !IsCut(n)) demand.AddInter(seen_[n], rest / static_cast<double>(tail));
  }
  return demand;
}

void RateControl::Demand::AddInter(const Frame& frame, double times) {
  inter_bits += times * frame.inter;
  noise_pixels += times * frame.noise_pixels;
  noise_zero += times * frame.noise_pixels * frame.noise_zero;
}

void RateControl::Demand::Scale(double key, double cut, double inter) {
  key_bits *= key;
  cut_bits *= cut;
  inter_bits *= inter;
  noise_pixels *= inter;
  noise_zero *= inter;
}

double RateControl::Demand::BitsAt(double crf) const {
  const double noise =
      noise_pixels > 0 ? noise_pixels * NoiseBitsPerPixel(noise_zero / noise_pixels, crf) : 0;
  return (key_bits + cut_bits) * std::exp2(-crf / kKeyStep) +
         inter_bits * std::exp2(-crf / kInterStep) + noise;
}

// The CRF at which the demand takes `bits`: bits fall as it rises, so it is found by halving.
double RateControl::Solve(const Demand& demand, double bits) {
  double low = kLowestCrf;
  double high = kHighestCrf;
  while (high - low > 0.01) {
    const double middle = (low + high) / 2;
    (demand.BitsAt(middle) > bits ? low : high) = middle;
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
          .even_crf = coded_bits_ > 0 ? kInterStep * std::log2(coded_scaled_ / coded_bits_) : 0,
          .share = share_};
}

void RateControl::Coded(std::int64_t bytes, std::int64_t pts) {
  const double bits = 8.0 * static_cast<double>(bytes);
  crf_sum_ += crf_;
  coded_bits_ += bits;
  coded_scaled_ += bits * std::exp2(crf_ / kInterStep);
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
    group_crf_ = crf_;
  }
  ++group_frames_;
  group_bits_ += bits;
  group_scaled_ += bits * std::exp2(group_crf_ / kInterStep);
  if (starts_group) Steer();
}

void RateControl::CodedKey(double bits) {
  closed_ = 1;
  closed_pts_ = last_pts_;
  closed_bits_ = bits;
  floor_ = std::min(kTransparentCrf, std::max(crf_ - kFloorDistance, kLowestCrf));
  const double surprise = bits * std::exp2(crf_ / kKeyStep) / seen_.front().key;
  key_surprise_ = surprise;
  key_crf_ = crf_;
  // A unit of one frame may turn out to have more: what is known of live GOPs is a guess.
  const double until = std::max(frames_, 2.0);
  Demand others = DemandFrom(1, until);
  others.cut_bits = 0;
  const double weight =
      kPriorWeight * others.BitsAt(crf_) * std::exp2(crf_ / kInterStep) / (until - 1);
  estimated_ = weight;
  taken_ = weight * std::pow(surprise, kSharedSurprise);
  last_scale_ = taken_ / estimated_;
  Steer();
}

double RateControl::EstimateFrom(std::size_t first, std::size_t end) const {
  double estimated = 0;
  for (std::size_t n = first; n < std::min(end, seen_.size()); ++n) {
    Demand demand;
    if (IsCut(n)) {
      demand.cut_bits = seen_[n].key;
    } else {
      demand.AddInter(seen_[n], 1);
    }
    estimated += demand.BitsAt(group_crf_) * std::exp2(group_crf_ / kInterStep);
  }
  return estimated;
}

// Of what cuts, or changes that look like cuts (a page that scrolls by lines), take of what key
// frames would: as the key frame did until there has been one.
double RateControl::CutScale(double taken, double estimated) const {
  const double prior =
      kCutPrior * seen_.front().key * std::exp2(key_crf_ / kInterStep - key_crf_ / kKeyStep);
  return (taken + prior * key_surprise_) / (estimated + prior);
}

void RateControl::CloseGroup() {
  if (group_frames_ == 0) return;
  const double estimated = EstimateFrom(closed_, closed_ + group_frames_);
  double fading = std::pow(kMemory, static_cast<double>(group_frames_));
  if (HasCut(closed_, closed_ + group_frames_)) {
    cut_taken_ = cut_taken_ * fading + group_scaled_;
    cut_estimated_ = cut_estimated_ * fading + estimated;
  } else {
    const double surprise = std::log2(group_scaled_ / estimated * estimated_ / taken_);
    if (inter_estimated_ == 0 && std::abs(surprise) > kRefuted) fading = 0;
    taken_ = taken_ * fading + group_scaled_;
    estimated_ = estimated_ * fading + estimated;
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

// At which the unit would take what it is to aim at, by what is known of it now.
double RateControl::FittingCrf(const Scales& scales) const {
  Demand whole = DemandFrom(0, frames_);
  whole.Scale(key_surprise_, scales.cut, scales.inter);
  return Solve(whole, target_bits_);
}

double RateControl::TakeShare(const Scales& scales) {
  share_ = ShareAt(FittingCrf(scales));
  return share_;
}

RateTrial RateControl::trial() const {
  if (closed_ < std::size_t{kTrialFrames}) return RateTrial::kOpen;
  if (2 * static_cast<double>(coded_) > frames_) return RateTrial::kGood;
  const double fitting = std::max(FittingCrf(KnownScales()), kTransparentCrf);
  const double off = std::abs(fitting - std::max(key_crf_, kTransparentCrf));
  return off > kMisjudged ? RateTrial::kMisjudged : RateTrial::kGood;
}

RateControl::Scales RateControl::KnownScales() const {
  Scales scales{.inter = taken_ / estimated_, .cut = CutScale(cut_taken_, cut_estimated_)};
  if (group_frames_ == 0) return scales;
  // The open group, from the closed frames to its P frame, may already say that frames are dearer
  // than estimated.
  const std::size_t end = closed_ + static_cast<std::size_t>(last_pts_ - closed_pts_);
  const double group = kGroupPerP * group_scaled_, estimated = EstimateFrom(closed_, end);
  if (HasCut(closed_, end)) {
    scales.cut = std::max(scales.cut, CutScale(cut_taken_ + group, cut_estimated_ + estimated));
  } else {
    scales.inter = std::max(scales.inter, (taken_ + group) / (estimated_ + estimated));
  }
  return scales;
}

// Towards `ideal`, by a limited step. A surprise of more than an octave may be answered at once.
double RateControl::Step(double ideal, double inter_scale) {
  const double octaves = std::log2(inter_scale / last_scale_);
  last_scale_ = inter_scale;
  const double least = aim_.usual_crf > 0 ? kLearntStepDown : kMaxStepDown;
  const double up = kMaxStepUp + kInterStep * std::max(octaves - 1, 0.0);
  const double down = least + kInterStep * std::max(-octaves - 1, 0.0);
  return std::clamp(std::clamp(ideal, crf_ - down, crf_ + up), floor_, kHighestCrf);
}

void RateControl::Steer() {
  const double until = std::max(frames_, static_cast<double>(closed_) + kHorizon);
  Demand demand = DemandFrom(closed_, until);
  const Scales scales = KnownScales();
  demand.Scale(1, scales.cut, scales.inter);
  const double target = target_bits_ * TakeShare(scales);
  const double mean = target / frames_;
  const double left = target + (until - frames_) * mean - closed_bits_;
  const double least = kLeastShare * mean * (until - static_cast<double>(closed_));
  crf_ = Step(Solve(demand, std::max(left, least)), scales.inter);
}

}  // namespace gopmill
