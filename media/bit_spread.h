// SPDX-License-Identifier: Apache-2.0
//
// Spreads the bits of a movie over its units by what each of them took in an analysis pass
// (server/stream/movie_analysis.h): quality=best. Without it a unit's share follows the source's
// bytes, which tell little of the pictures where the source had a constant rate.
//
// Shares follow the measured bits to the power kSpreadExponent. 1 would give all units the same
// CRF, which is best for the worst frames; less gives more to pictures that are easy, where a bit
// buys most decibels. With 0.6 each movie measured came out better than one continuous encode by
// PSNR and by SSIM (docs/BENCHMARKS.md).
//
// Thread-safety: safe (pure functions and plain values).
#pragma once

#include <cstdint>
#include <vector>

#include "base/rational.h"

namespace gopmill {

inline constexpr double kSpreadExponent = 0.6;

// Output frames [first_frame, end_frame) took so many bits at `crf`.
struct MeasuredUnit {
  std::int64_t first_frame = 0, end_frame = 0;
  double bits = 0;
  double step = 0;  // of CRF, that halves them; 0 = not known
};

struct MovieMeasure {
  double crf = 0;
  // The units are encoded by the encoder that measured them, with the same settings: what they took
  // is worth as much as a pass of their own.
  bool same_encoder = false;
  std::vector<MeasuredUnit> units;  // in order, of the whole movie
};

struct SpreadTerms {
  Rational fps;
  std::int64_t bitrate = 0, maxrate = 0;  // bits per second; maxrate 0 = none
  double transparent_crf = 0;             // bits are not spent for a lower one
  std::int64_t most_bps = 0;              // of any unit: what the declared level allows; 0 = any
};

struct UnitBudget {
  std::int64_t first_frame = 0, end_frame = 0;
  std::int64_t bps = 0;  // >= 1000
  double measured_bits = 0, measured_step = 0;
};

// CRF steps that halve the bits of a movie, about.
inline constexpr double kCrfPerOctave = 5.5;

class UnitBudgets {
 public:
  UnitBudgets() = default;
  // The budgets add up to `bitrate` in the mean, less what the caps of too many units leave over.
  UnitBudgets(MovieMeasure measure, const SpreadTerms& terms);

  // Of the unit that has exactly these frames; nullptr = it was not measured.
  [[nodiscard]] const UnitBudget* Find(std::int64_t first_frame, std::int64_t end_frame) const;
  // 0 = what was measured is not a pass of the unit's own encoder.
  [[nodiscard]] double crf() const { return crf_; }

 private:
  double crf_ = 0;
  std::vector<UnitBudget> units_;  // in order
};

// Of a movie that was measured at another CRF before: its units tell by which step they answer.
void TakeSteps(MovieMeasure& measure, const MovieMeasure& before);

// The CRF at which the movie would take `bitrate` in the mean, about.
double CrfFor(const MovieMeasure& measure, Rational fps, std::int64_t bitrate);

}  // namespace gopmill
