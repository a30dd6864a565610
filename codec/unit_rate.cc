// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_rate.h"

#include <algorithm>
#include <cmath>

#include "codec/crf_scale.h"
#include "codec/encoder_settings.h"
#include "media/bit_spread.h"

namespace gopmill {
namespace {

constexpr int kMaxVbvPasses = 4;
// x264 keeps a cap by itself, but with a buffer that is empty in the end: until it is asked for
// less than that it answers to nothing, and then to all.
constexpr int kMaxX264VbvPasses = 8;
// Encoders with a rate control of their own (HEVC, AV1, VP9) get a second pass over a unit whose
// rate they missed by more than this.
constexpr int kMaxRatePasses = 2;
constexpr double kRateTolerance = 0.06;
// A cap that is broken asks for more than the mean says: it is a few pictures that do not fit. Some
// encoders take whole factors only.
constexpr double kLeastCrfStep = 1;
// The factors of AV1 and VP9 go to 63, and lie closer together.
constexpr double kWideCrfPerOctave = 10;

// What to ask an encoder for so that the first pass is near the rate: SVT-AV1 overspends on units
// of two seconds by 40 to 65 %.
double FirstGuess(VideoCodec codec) { return codec == VideoCodec::kAv1 ? 0.66 : 1.0; }

// A unit of so few frames is over before it can be steered: its rate is searched for if it was
// missed by more than this, and by more than so many seconds have. What half a second misses, those
// after it make up for, and a search may take as long as all else (20 streams of GOPs of half a
// second took 2.5 times the CPU time when 15 % was all that each was allowed). There is one first
// unit, and of a short clip it is much.
constexpr std::int64_t kShortUnit = 16;
constexpr double kShortTolerance = 0.15, kShortDebt = 0.5, kFirstDebt = 0.15;
constexpr double kShortGood = 0.05, kShortGoodDebt = 0.15;  // of the search

bool IsTried(const EncoderSpec& spec) {
  return spec.rate_mode == RateMode::kBitrate && spec.quality == Quality::kNormal &&
         !spec.low_delay && SteeredByCrf(spec);
}

bool IsWhole(const UnitSpec& unit) { return unit.begins_gop() && unit.ends_gop; }

bool Searches(const EncoderSpec& spec) {
  return spec.quality == Quality::kBest && SteeredByCrf(spec);
}

int MaxVbvPasses(VideoCodec codec) {
  return codec == VideoCodec::kH264 ? kMaxX264VbvPasses : kMaxVbvPasses;
}

double HighestCrf(VideoCodec codec) {
  return codec == VideoCodec::kAv1 || codec == VideoCodec::kVp9 ? 63 : kHighestCrf;
}

bool MustBeJudged(const EncoderSpec& spec) {
  if (spec.low_delay) return false;  // nothing is held back
  return spec.maxrate > 0 || Searches(spec) ||
         (spec.rate_mode == RateMode::kBitrate && !OpensAhead(spec));
}

}  // namespace

UnitRate::UnitRate(const EncoderSpec& spec, const UnitSpec& unit, bool repeatable,
                   const std::optional<RateAim>& aim)
    : spec_(spec),
      repeatable_(repeatable),
      pixels_(static_cast<double>(unit.frame_count()) * spec.width * spec.height),
      seconds_(static_cast<double>(unit.frame_count()) / spec.fps.ToDouble()),
      short_(repeatable && IsTried(spec) && IsWhole(unit) && unit.frame_count() <= kShortUnit),
      short_debt_(unit.index.value == 0 ? kFirstDebt : kShortDebt),
      on_trial_(repeatable && IsTried(spec) && IsWhole(unit) && !short_),
      judged_(short_ || MustBeJudged(spec)),
      aim_(aim.value_or(RateAim{.bps = static_cast<double>(unit.budget_bps)})),
      target_bytes_(aim_.bps * seconds_ / 8) {
  aim_.bps *= FirstGuess(spec.codec);
  if (!Searches(spec) || !repeatable) return;
  std::optional<RateSearch::Known> known;
  if (unit.measured_crf > 0) {
    known = {.crf = unit.measured_crf, .bits = unit.measured_bits, .step = unit.measured_step};
  }
  search_.emplace(8 * target_bytes_, pixels_, known);
}

PassRate UnitRate::next() const {
  if (search_) return {.crf = search_->crf()};
  return {.aim = aim_, .crf = crf_, .one_thread = passes_ > 0};
}

void UnitRate::LearnFrom(const RateLesson& lesson) {
  EndTrial();
  if (lesson.key > 0) aim_.key_scale = lesson.key;
  if (lesson.inter > 0) aim_.inter_scale = lesson.inter;
}

// Not where there was nothing more to spend it on, or nothing more to be saved.
bool UnitRate::MissedShort(const Made& made) const {
  if (!short_ || passes_ > 1 || made.crf <= 0) return false;
  const double factor = static_cast<double>(made.bytes) / target_bytes_;
  const bool can_move = factor < 1 ? made.crf > kTransparentCrf + 1 : made.crf < kHighestCrf - 1;
  const double tolerance = std::max(kShortTolerance, short_debt_ / seconds_);
  return std::abs(factor - 1) > tolerance && can_move;
}

UnitRate::Verdict UnitRate::Judge(const Made& made) {
  ++passes_;
  const double bits = 8.0 * static_cast<double>(made.bytes);
  if (MissedShort(made)) {
    const RateSearch::Known steered{
        .crf = made.crf, .bits = bits, .kept = true, .allowed = made.vbv_factor >= 1};
    search_.emplace(8 * target_bytes_, pixels_, steered,
                    std::max(kShortGood, kShortGoodDebt / seconds_));
    aimed_otherwise_ = true;
    return {.keep = true, .done = false};
  }
  if (search_) {
    const bool done = search_->Done(bits, made.vbv_factor);
    if (!done || search_->found_allowed()) {
      return {.keep = search_->newest_is_best(), .done = done};
    }
    crf_ = search_->crf();  // which is raised until the VBV is satisfied
    search_.reset();
    passes_ = 1;
  }
  // Threads had no buffer model in the encoder (frame_size_estimated): with it the aim may do.
  const bool without_vbv = passes_ == 1 && spec_.threads > 1 && made.vbv_factor < 1;
  if (without_vbv && repeatable_) return {.keep = true, .done = false};
  if (spec_.rate_mode == RateMode::kCrf || crf_) {
    const bool done = !repeatable_ || made.vbv_factor >= 1 || !RaiseCrf(made.vbv_factor);
    return {.keep = true, .done = done};
  }
  const double correction = repeatable_ ? Correction(made) : 1;
  aim_.bps *= correction;
  aimed_otherwise_ = aimed_otherwise_ || correction != 1;
  return {.keep = IsBest(made), .done = correction == 1};
}

// Of those that were told of to this. What satisfies the VBV goes before what is near the rate.
bool UnitRate::IsBest(const Made& made) {
  const Worth now{.vbv_factor = std::min(made.vbv_factor, 1.0),
                  .octaves = std::abs(
                      std::log2(std::max(static_cast<double>(made.bytes), 1.0) / target_bytes_))};
  const bool best = !best_ || now.vbv_factor > best_->vbv_factor ||
                    (now.vbv_factor == best_->vbv_factor && now.octaves <= best_->octaves);
  if (best) best_ = now;
  return best;
}

// What to multiply the rate with in the next pass; 1 = this one is good, or the last.
double UnitRate::Correction(const Made& made) {
  if (made.vbv_factor < 1) {
    breaks_ = aim_.bps;
    return passes_ < MaxVbvPasses(spec_.codec) ? CutFor(made.vbv_factor) : 1;
  }
  fits_ = aim_.bps;
  if (OpensAhead(spec_) || made.bytes == 0) return 1;
  const bool best = spec_.quality == Quality::kBest;
  // What SVT-AV1 takes jumps where its rate moves by little: trying again was not worth its time.
  const bool again = breaks_ && spec_.codec != VideoCodec::kAv1;
  const int most = again ? MaxVbvPasses(spec_.codec) : kMaxRatePasses;
  if (passes_ >= (best ? kMaxSearchPasses : most)) return 1;
  const double factor = target_bytes_ / static_cast<double>(made.bytes);
  const double tolerance = best ? kSearchTolerance : kRateTolerance;
  return std::abs(factor - 1) <= tolerance ? 1 : Nearer(std::clamp(factor, 0.3, 1.6));
}

// Below a rate that breaks the VBV, but above one that does not.
double UnitRate::CutFor(double vbv_factor) const {
  constexpr double kLongestStep = 0.25;
  if (fits_ && *fits_ < *breaks_) return std::sqrt(*fits_ / *breaks_);
  const int power = std::max(1, passes_ - 2);  // longer steps in the end
  return std::max(kLongestStep, std::pow(vbv_factor, power));
}

// What was cut for the VBV's sake was cut by guess: a unit that takes less than it may is tried
// again on half the way back. 1 where that is no way.
double UnitRate::Nearer(double factor) const {
  constexpr double kLeastStep = 1.06;
  if (!breaks_ || aim_.bps * factor < *breaks_) return factor;
  const double half = std::sqrt(*breaks_ / aim_.bps);
  return half < kLeastStep ? 1 : half;
}

// False when there is nothing left to try.
bool UnitRate::RaiseCrf(double vbv_factor) {
  const double before = crf_.value_or(spec_.crf), highest = HighestCrf(spec_.codec);
  if (passes_ >= MaxVbvPasses(spec_.codec) || before >= highest) return false;
  const double per_octave = highest > kHighestCrf ? kWideCrfPerOctave : kCrfPerOctave;
  // A longer step each time: an encoder that keeps a cap by itself answers to a small one with less
  // of its own.
  const double needed = per_octave * std::log2(1 / vbv_factor) * passes_;
  crf_ = std::min(highest, RoundedCrf(before + std::max(kLeastCrfStep * passes_, needed)));
  return true;
}

}  // namespace gopmill
