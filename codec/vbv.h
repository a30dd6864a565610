// SPDX-License-Identifier: Apache-2.0
//
// The video buffering verifier of one unit: a leaky bucket over the sizes of its coded frames.
//
// The plan fixes the fullness at every unit border to half the buffer. A unit is judged alone: it
// starts there, must never take more than is in the buffer, and must end at or above it. Then any
// sequence of such units satisfies the declared maxrate and bufsize, whatever made them.
//
// Source: ISO/IEC 13818-2 annex C; ITU-T H.264 annex C (HRD). Thread-safety: thread-compatible.
#pragma once

#include <cstdint>

#include "base/rational.h"

namespace gopmill {

class VbvModel {
 public:
  // maxrate in bits per second, bufsize in bits, fps in frames per second.
  VbvModel(std::int64_t maxrate, std::int64_t bufsize, Rational fps);

  // Takes the next frame in coding order out of the buffer.
  void Add(std::int64_t bytes);

  // Whether the unit may be followed by any other one.
  [[nodiscard]] bool passes() const { return !underflowed_ && level_ >= start_; }
  [[nodiscard]] double level_bits() const { return level_; }

  // Share of the bit rate to try next, so that the bits of this pass would have fitted; below 1.
  [[nodiscard]] double CorrectionFactor() const;

 private:
  const double fill_per_frame_, size_, start_;
  double level_;
  double lowest_;
  double taken_ = 0, filled_ = 0;
  bool underflowed_ = false;
};

// The same bucket over a whole stream as it is sent, unit after unit: the proof that the declared
// maxrate and bufsize hold. It steers nothing. It starts where the plan has the border of units. A
// picture that is not there in time is counted and waited for, so that one fault is one fault.
class VbvLedger {
 public:
  // As for VbvModel.
  VbvLedger(std::int64_t maxrate, std::int64_t bufsize, Rational fps);

  // Takes the next frame in coding order out; false = it was not there in time.
  bool Add(std::int64_t bytes);

  [[nodiscard]] double level_bits() const { return level_; }    // when the next frame is due
  [[nodiscard]] double lowest_bits() const { return lowest_; }  // ever; below 0 = what was missing
  [[nodiscard]] std::int64_t underflows() const { return underflows_; }  // frames

 private:
  const double fill_per_frame_, size_;
  double level_, lowest_;
  std::int64_t underflows_ = 0;
};

}  // namespace gopmill
