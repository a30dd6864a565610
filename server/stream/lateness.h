// SPDX-License-Identifier: Apache-2.0
//
// How often a reader kept the others of its group waiting for too long: kMostLate times and it is
// on its own for good. A reader may be there for months, so what it did is forgiven once it has
// been in time for kForgiveGops.
//
// Thread-safety: compatible.
#pragma once

namespace gopmill {

inline constexpr int kMostLate = 3;
inline constexpr int kForgiveGops = 100;

class Lateness {
 public:
  [[nodiscard]] bool too_often() const { return late_ >= kMostLate; }
  void OnLate() {
    ++late_;
    in_time_ = 0;
  }
  // A GOP begins and it is one of the group.
  void OnGop() {
    if (++in_time_ >= kForgiveGops) *this = {};
  }

 private:
  int late_ = 0, in_time_ = 0;
};

}  // namespace gopmill
