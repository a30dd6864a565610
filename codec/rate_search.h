// SPDX-License-Identifier: Apache-2.0
//
// Finds the constant rate factor (CRF) at which a unit takes the bits it may: quality=best, where a
// unit is encoded as often as that needs. A whole unit at one factor is what a two-pass encoder
// comes to: no bits are lost to a control that has to learn the pictures while it spends them.
//
// Algorithm: log2 of the bits falls nearly linearly with the CRF, so each pass corrects by the line
// through the two newest ones (the first by the step that its analysis found, or 5.5 per octave).
//
// Guarantee: a pure function of the numbers given; factors are rounded (crf_scale.h).
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gopmill {

// Close enough: a pass whose bits are off by no more. What is asked of the mean rate of a minute.
inline constexpr double kSearchTolerance = 0.02;
inline constexpr int kMaxSearchPasses = 5;

// The CRF at which so many pixels of middling detail take so many bits.
double GuessedCrf(double bits, double pixels);
// The nearest that may be used.
double AllowedCrf(double crf);

class RateSearch {
 public:
  // A pass that was made before the search.
  struct Known {
    double crf = 0, bits = 0;
    double step = 0;      // of CRF, that halves them; 0 = not known
    bool kept = false;    // its packets are there: it may be the best
    bool allowed = true;  // by the VBV
  };
  // `bits` > 0 that the unit may take; `pixels` > 0 in all its frames, for the first guess where
  // nothing is known; `tolerance`: a pass that is off by no more is good.
  RateSearch(double bits, double pixels, const std::optional<Known>& known = {},
             double tolerance = kSearchTolerance);

  // For the next pass.
  [[nodiscard]] double crf() const { return crf_; }
  // The pass at crf() took so many bits. `vbv_factor` < 1: it broke the VBV and should have taken
  // that part of them; what may be spent is lowered for good. True when no other pass is needed.
  bool Done(double bits, double vbv_factor);
  // Whether a pass satisfied the VBV.
  [[nodiscard]] bool found_allowed() const { return passes_[best_].allowed; }
  // Whether the newest pass is the best so far: the one to keep.
  [[nodiscard]] bool newest_is_best() const { return best_ + 1 == passes_.size(); }

 private:
  struct Pass {
    double crf = 0, octaves = 0;  // log2(bits / what may be spent)
    bool allowed = true;          // by the VBV
    bool kept = true;             // its packets are there
  };
  [[nodiscard]] double Next() const;

  double bits_, crf_;
  double first_step_ = 0;
  double tolerance_;
  std::vector<Pass> passes_;
  std::size_t best_ = 0;
  std::size_t known_ = 0;  // passes before the search
};

}  // namespace gopmill
