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

bool Searches(const EncoderSpec& spec) {
  return spec.quality == Quality::kBest && SteeredByCrf(spec);
}

double HighestCrf(VideoCodec codec) {
  return codec == VideoCodec::kAv1 || codec == VideoCodec::kVp9 ? 63 : kHighestCrf;
}

double TargetBytes(const EncoderSpec& spec, const UnitSpec& unit, const RateAim& aim) {
  const double seconds = static_cast<double>(unit.frame_count()) / spec.fps.ToDouble();
  return aim.bps * seconds / 8;
}

}  // namespace

UnitRate::UnitRate(const EncoderSpec& spec, const UnitSpec& unit, bool repeatable,
                   const std::optional<RateAim>& aim)
    : spec_(spec),
      repeatable_(repeatable),
      aim_(aim.value_or(RateAim{.bps = static_cast<double>(unit.budget_bps)})),
      target_bytes_(TargetBytes(spec, unit, aim_)) {
  aim_.bps *= FirstGuess(spec.codec);
  if (!Searches(spec) || !repeatable) return;
  const double pixels = static_cast<double>(unit.frame_count()) * spec.width * spec.height;
  std::optional<RateSearch::Known> known;
  if (unit.measured_crf > 0) known = {.crf = unit.measured_crf, .bits = unit.measured_bits};
  search_.emplace(8 * target_bytes_, pixels, known);
}

bool UnitRate::MustBeJudged(const EncoderSpec& spec) {
  if (spec.low_delay) return false;  // nothing is held back
  return spec.maxrate > 0 || Searches(spec) ||
         (spec.rate_mode == RateMode::kBitrate && !OpensAhead(spec));
}

PassRate UnitRate::next() const {
  if (search_) return {.crf = search_->crf()};
  return {.aim = aim_, .crf = crf_, .one_thread = passes_ > 0};
}

UnitRate::Verdict UnitRate::Judge(std::int64_t bytes, double vbv_factor) {
  ++passes_;
  if (search_) {
    const bool done = search_->Done(8.0 * static_cast<double>(bytes), vbv_factor);
    return {.keep = search_->newest_is_best(), .done = done};
  }
  // Threads had no buffer model in the encoder (frame_size_estimated): with it the aim may do.
  const bool without_vbv = passes_ == 1 && spec_.threads > 1 && vbv_factor < 1;
  if (without_vbv && repeatable_) return {.keep = true, .done = false};
  if (spec_.rate_mode == RateMode::kCrf) {
    return {.keep = true, .done = !repeatable_ || vbv_factor >= 1 || !RaiseCrf(vbv_factor)};
  }
  const double correction = repeatable_ ? Correction(bytes, vbv_factor) : 1;
  aim_.bps *= correction;
  return {.keep = true, .done = correction == 1};
}

// What to multiply the rate with in the next pass; 1 = this one is good, or the last.
double UnitRate::Correction(std::int64_t bytes, double vbv_factor) const {
  if (vbv_factor < 1) return passes_ < kMaxVbvPasses ? vbv_factor : 1;
  const bool best = spec_.quality == Quality::kBest;
  if (OpensAhead(spec_) || bytes == 0) return 1;
  if (passes_ >= (best ? kMaxSearchPasses : kMaxRatePasses)) return 1;
  const double factor = target_bytes_ / static_cast<double>(bytes);
  const double tolerance = best ? kSearchTolerance : kRateTolerance;
  return std::abs(factor - 1) <= tolerance ? 1 : std::clamp(factor, 0.3, 1.6);
}

// False when there is nothing left to try.
bool UnitRate::RaiseCrf(double vbv_factor) {
  const double before = crf_.value_or(spec_.crf), highest = HighestCrf(spec_.codec);
  if (passes_ >= kMaxVbvPasses || before >= highest) return false;
  const double per_octave = highest > kHighestCrf ? kWideCrfPerOctave : kCrfPerOctave;
  // A longer step each time: an encoder that keeps a cap by itself answers to a small one with less
  // of its own.
  const double needed = per_octave * std::log2(1 / vbv_factor) * passes_;
  crf_ = std::min(highest, RoundedCrf(before + std::max(kLeastCrfStep * passes_, needed)));
  return true;
}

}  // namespace gopmill
