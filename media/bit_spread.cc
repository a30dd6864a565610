// SPDX-License-Identifier: Apache-2.0
#include "media/bit_spread.h"

#include <algorithm>
#include <cmath>

namespace gopmill {
namespace {

constexpr double kLeastBits = 100;  // a unit is taken to have had, so that each gets something
constexpr double kLeastBps = 1000;
// Of maxrate: a unit at the cap would often break the VBV and be encoded again.
constexpr double kBelowCap = 0.9;

struct Share {
  double weight = 0, most = 0, bits = 0;
  bool capped = false;
};

double Seconds(const MeasuredUnit& unit, Rational fps) {
  return static_cast<double>(unit.end_frame - unit.first_frame) / fps.ToDouble();
}

// Gives `total` to all by their weights; what is above someone's most goes to the others.
void Divide(double total, std::vector<Share>& shares) {
  bool again = true;
  while (again) {
    double weights = 0, left = total;
    for (const Share& share : shares) {
      if (share.capped) left -= share.bits;
      if (!share.capped) weights += share.weight;
    }
    again = false;
    for (Share& share : shares) {
      if (share.capped) continue;
      share.bits = std::max(left, 0.0) * share.weight / weights;
      if (share.bits <= share.most) continue;
      share.bits = share.most;
      share.capped = again = true;
    }
  }
}

}  // namespace

UnitBudgets::UnitBudgets(MovieMeasure measure, const SpreadTerms& terms)
    : crf_(measure.same_encoder ? measure.crf : 0) {
  std::vector<Share> shares;
  double total = 0;
  for (const MeasuredUnit& unit : measure.units) {
    const double seconds = Seconds(unit, terms.fps);
    const double bits = std::max(unit.bits, kLeastBits);
    const double transparent =
        bits * std::exp2((measure.crf - terms.transparent_crf) / kCrfPerOctave);
    const double mean = static_cast<double>(terms.bitrate);
    double most = transparent;
    if (terms.maxrate > 0) {
      const double cap = kBelowCap * static_cast<double>(terms.maxrate);
      most = std::min(most, std::max(cap, mean) * seconds);
    }
    if (terms.most_bps > 0) most = std::min(most, static_cast<double>(terms.most_bps) * seconds);
    shares.push_back({.weight = seconds * std::pow(bits / seconds, kSpreadExponent), .most = most});
    total += mean * seconds;
  }
  Divide(total, shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const MeasuredUnit& unit = measure.units[i];
    const double bps = std::max(shares[i].bits / Seconds(unit, terms.fps), kLeastBps);
    units_.push_back({.first_frame = unit.first_frame,
                      .end_frame = unit.end_frame,
                      .bps = std::llround(bps),
                      .measured_bits = std::max(unit.bits, kLeastBits),
                      .measured_step = unit.step});
  }
}

const UnitBudget* UnitBudgets::Find(std::int64_t first_frame, std::int64_t end_frame) const {
  const auto found = std::ranges::lower_bound(units_, first_frame, {}, &UnitBudget::first_frame);
  if (found == units_.end() || found->first_frame != first_frame || found->end_frame != end_frame) {
    return nullptr;
  }
  return &*found;
}

void TakeSteps(MovieMeasure& measure, const MovieMeasure& before) {
  if (measure.units.size() != before.units.size()) return;
  for (std::size_t i = 0; i < measure.units.size(); ++i) {
    MeasuredUnit& unit = measure.units[i];
    const double octaves =
        std::log2(std::max(before.units[i].bits, kLeastBits) / std::max(unit.bits, kLeastBits));
    const double step = (measure.crf - before.crf) / octaves;
    if (std::isfinite(step)) unit.step = std::max(step, 0.0);
  }
}

double CrfFor(const MovieMeasure& measure, Rational fps, std::int64_t bitrate) {
  double bits = 0, seconds = 0;
  for (const MeasuredUnit& unit : measure.units) {
    bits += std::max(unit.bits, kLeastBits);
    seconds += Seconds(unit, fps);
  }
  if (seconds <= 0) return measure.crf;
  return measure.crf + kCrfPerOctave * std::log2(bits / (seconds * static_cast<double>(bitrate)));
}

}  // namespace gopmill
