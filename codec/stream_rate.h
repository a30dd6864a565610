// SPDX-License-Identifier: Apache-2.0
//
// What the units of a stream learn of those before them, so that the stream as a whole has its bit
// rate: units are made in parallel, each aims at its own budget, and what one leaves over or takes
// too much no other would make up for.
//
// Two things are passed on. (1) The rate: a unit aims at its budget, less what those before it took
// beyond theirs, spread over ten seconds or more, and corrected by how far units of this stream
// miss what they aim at. (2) How complex pictures of this stream really are (RateLesson), so that a
// unit's steering (rate_control.h) begins where it would end.
//
// What unit n gets must not depend on which unit was done first. So it depends on the units before
// n - Lag(n) alone, and unit n waits for them. The lag grows with n: at first as many units are in
// work at once as small machines have workers, later as many as large ones have. The first units
// learn nothing. What is known late is old, and to act on it at once would answer hard pictures
// when easy ones are shown: the longer the lag, the more units are looked at and the slower a debt
// is paid. So a minute of a long movie has the rate that its pictures make of its units' budgets,
// and the movie has the rate that was asked for.
//
// Guarantee: a pure function of what was planned and of what the units took. Units: bits, seconds.
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <deque>

#include "codec/video_encoder.h"
#include "media/plan.h"

namespace gopmill {

struct UnitStats;

class StreamRate {
 public:
  // `maxrate` in bits per second, 0 = none: no unit aims higher, also by its share, unless its
  // budget is.
  StreamRate(Rational fps, std::int64_t maxrate) : fps_(fps.ToDouble()), maxrate_(maxrate) {}

  // Whether units of such a stream learn: (1) where the encoder misses the rate of single units,
  // (2) where it is steered frame by frame. Not quality=best, whose units meet their budgets, nor
  // low delay, whose units are due before that is known.
  static bool Applies(const EncoderSpec& spec);
  // Unit n waits for those before n - Lag(n).
  static std::int64_t Lag(std::int64_t n);

  // Every unit, in order.
  void OnPlanned(const UnitSpec& unit);
  // Every unit once, in any order.
  void OnEnded(UnitIndex unit, const UnitStats& stats);
  // Whether all that AimOf reads is known, of a unit that was planned.
  [[nodiscard]] bool Knows(UnitIndex unit) const;
  // Of a unit that it Knows, once or more; less than kKept behind the newest.
  RateAim AimOf(UnitIndex unit);

 private:
  struct Unit {
    double seconds = 0, budget = 0;  // bits
    double intended = 0;             // bits, once chosen
    RateAim aim = {};                // once chosen
    bool ended = false;
    double bits = 0;  // once ended
    RateLesson lesson = {};
    bool again = false;  // it aimed at something else in the end
  };
  [[nodiscard]] Unit& At(std::int64_t n) { return units_[static_cast<std::size_t>(n - first_)]; }
  void Choose(std::int64_t n);
  RateAim LearnFrom(std::int64_t end, std::int64_t sample);
  double ShareOf(std::int64_t end);
  void Cap(Unit& unit, double miss) const;
  void Forget();

  double fps_;                  // constant
  std::int64_t maxrate_;        // constant
  std::deque<Unit> units_;      // from first_ on
  std::int64_t first_ = 0;      // index of the oldest that is kept
  std::int64_t next_ = 0;       // to be chosen
  std::int64_t all_ended_ = 0;  // all before it have ended
  std::int64_t counted_ = 0;    // units in overspent_
  double overspent_ = 0;        // bits beyond their budgets, by the units before counted_
};

}  // namespace gopmill
