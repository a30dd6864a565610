// SPDX-License-Identifier: Apache-2.0
//
// Bounds how often the unit that is due first stands back for one that is warm. Streams whose units
// come one behind the other keep a worker warm for themselves: without a bound a unit of another
// stream would wait for their ends.
//
// Thread-safety: compatible.
#pragma once

#include "base/ids.h"

namespace gopmill {

inline constexpr int kMaxPassed = 16;

class PassedOver {
 public:
  // That `first` stands back once more; false: it has done so often enough, it is its turn.
  bool Again(const UnitId& first) {
    if (unit_ != first) {
      unit_ = first;
      times_ = 0;
    }
    return ++times_ <= kMaxPassed;
  }

 private:
  UnitId unit_;
  int times_ = 0;
};

}  // namespace gopmill
