// SPDX-License-Identifier: Apache-2.0
//
// At which rate each pass over a unit runs, and which pass is kept: the VBV, encoders that miss a
// unit's rate by too much, pictures that were misjudged, and quality=best.
//
// Guarantee: depends on the spec, the unit, its aim and the results of its own passes alone. Pure.
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/rate_search.h"
#include "codec/video_encoder.h"
#include "media/plan.h"

namespace gopmill {

// What an encoder is told: a bit rate, or one rate factor for all frames. In the mode kCrf a factor
// stands in place of the spec's.
struct PassRate {
  RateAim aim = {};
  std::optional<double> crf = {};
  bool one_thread = false;  // an encoder without a VBV of its own took too much
};

class UnitRate {
 public:
  // `repeatable`: the unit can be decoded again; else it gets one pass.
  // `aim`: UnitTask's.
  UnitRate(const EncoderSpec& spec, const UnitSpec& unit, bool repeatable,
           const std::optional<RateAim>& aim);

  // Whether packets must wait until their pass has been judged: a VBV was declared, the encoder
  // keeps its own rate control, which misses the rate of a single unit by too much,
  // quality=best, or a unit that is too short to be steered.
  [[nodiscard]] bool must_be_judged() const { return judged_; }
  // Too short to be steered.
  [[nodiscard]] bool is_short() const { return short_; }
  // Whether the pass at next() begins again if its first frames are found to be misjudged: the
  // first one, until that is decided.
  [[nodiscard]] bool on_trial() const { return on_trial_; }
  void EndTrial() { on_trial_ = false; }
  // EndTrial; the pass begins again with this.
  void LearnFrom(const RateLesson& lesson);

  [[nodiscard]] PassRate next() const;
  struct Verdict {
    bool keep = true;  // of all passes so far this one is the best
    bool done = true;
  };
  // What the pass at next() took; to satisfy the VBV it should have been `vbv_factor` times that (1
  // = it does).
  struct Made {
    std::int64_t bytes = 0;
    double vbv_factor = 1;
    double crf = 0;  // at which a pass at one factor takes as many; 0 = not known
  };
  Verdict Judge(const Made& made);
  // Whether a pass aimed at something else than was asked for.
  [[nodiscard]] bool aimed_otherwise() const { return aimed_otherwise_; }

 private:
  struct Worth {
    double vbv_factor = 0;  // at most 1
    double octaves = 0;     // off the rate
  };
  double Correction(const Made& made);
  [[nodiscard]] double CutFor(double vbv_factor) const;
  [[nodiscard]] double Nearer(double factor) const;
  bool IsBest(const Made& made);
  [[nodiscard]] bool MissedShort(const Made& made) const;
  bool RaiseCrf(double vbv_factor);

  const EncoderSpec& spec_;
  const bool repeatable_;
  const double pixels_;  // in all frames
  const double seconds_;
  const bool short_;
  const double short_debt_;  // seconds of its rate, by which it may be missed
  bool on_trial_;
  const bool judged_;
  bool aimed_otherwise_ = false;
  RateAim aim_;
  const double target_bytes_;
  int passes_ = 0;
  std::optional<Worth> best_;            // of the passes at a rate
  std::optional<double> fits_, breaks_;  // the newest rate that kept the VBV, and that did not
  std::optional<double> crf_;            // in place of kCrf's or search_'s, which broke the VBV
  std::optional<RateSearch> search_;     // quality=best of an encoder that is steered by CRF
};

}  // namespace gopmill
