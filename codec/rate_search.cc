// SPDX-License-Identifier: Apache-2.0
#include "codec/rate_search.h"

#include <algorithm>
#include <cmath>

#include "codec/crf_scale.h"
#include "media/bit_spread.h"

namespace gopmill {
namespace {

constexpr double kStepPerOctave =
    kCrfPerOctave;  // CRF steps that halve a unit, before it is known better
constexpr double kLeastStep = 2, kMostStep = 14;
// Bits per pixel that pictures of middling detail take at that CRF with x264's presets.
constexpr double kGuessCrf = 24, kGuessBits = 0.08;

}  // namespace

double AllowedCrf(double crf) { return RoundedCrf(std::clamp(crf, kTransparentCrf, kHighestCrf)); }

double GuessedCrf(double bits, double pixels) {
  return AllowedCrf(kGuessCrf - kStepPerOctave * std::log2(bits / pixels / kGuessBits));
}

RateSearch::RateSearch(double bits, double pixels, const std::optional<Known>& known,
                       double tolerance)
    : bits_(bits), crf_(GuessedCrf(bits, pixels)), tolerance_(tolerance) {
  if (!known) return;
  passes_.push_back({.crf = known->crf,
                     .octaves = std::log2(std::max(known->bits, 1.0) / bits_),
                     .allowed = known->allowed,
                     .kept = known->kept});
  known_ = 1;
  first_step_ = known->step;
  crf_ = Next();
}

double RateSearch::Next() const {
  const Pass& newest = passes_.back();
  double step = first_step_ > 0 ? first_step_ : kStepPerOctave;
  if (passes_.size() > 1) {
    const Pass& before = passes_[passes_.size() - 2];
    const double octaves = before.octaves - newest.octaves;
    if (std::abs(octaves) > 1e-6) step = (newest.crf - before.crf) / octaves;
  }
  step = std::clamp(step, kLeastStep, kMostStep);
  return AllowedCrf(newest.crf + step * newest.octaves);
}

bool RateSearch::Done(double bits, double vbv_factor) {
  const bool allowed = vbv_factor >= 1;
  if (!allowed) {
    const double lowered = std::min(bits_, bits * vbv_factor);
    for (Pass& pass : passes_) pass.octaves += std::log2(bits_ / lowered);
    bits_ = lowered;
  }
  passes_.push_back(
      {.crf = crf_, .octaves = std::log2(std::max(bits, 1.0) / bits_), .allowed = allowed});
  const auto worse = [](const Pass& a, const Pass& b) {
    if (a.kept != b.kept) return b.kept;
    if (a.allowed != b.allowed) return b.allowed;
    return std::abs(a.octaves) > std::abs(b.octaves);
  };
  const Pass& newest = passes_.back();
  if (passes_.size() == 1 || worse(passes_[best_], newest)) best_ = passes_.size() - 1;
  if (allowed && std::abs(newest.octaves) <= std::log2(1 + tolerance_)) return true;
  if (passes_.size() >= kMaxSearchPasses + known_) return true;
  const double next = Next();
  if (next == crf_) return true;  // at the end of the scale
  crf_ = next;
  return false;
}

}  // namespace gopmill
