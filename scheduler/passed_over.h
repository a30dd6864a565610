// SPDX-License-Identifier: Apache-2.0
//
// Bounds how often the unit that is due first stands back for one that is warm. Streams whose units
// come one behind the other keep a worker warm for themselves: without a bound a unit of another
// stream would wait for their ends.
//
// Which unit is the first depends on the worker (one that failed there may not run there again), so
// some are remembered.
//
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <array>

#include "base/ids.h"

namespace gopmill {

inline constexpr int kMaxPassed = 16;

class PassedOver {
 public:
  // That `first` stands back once more; false: it has done so often enough, it is its turn.
  bool Again(const UnitId& first) {
    auto found = std::ranges::find(latest_, first, &Count::unit);
    if (found == latest_.end()) *--found = {.unit = first, .times = 0};
    std::rotate(latest_.begin(), found, found + 1);
    return ++latest_.front().times <= kMaxPassed;
  }

 private:
  struct Count {
    UnitId unit;
    int times = 0;
  };
  std::array<Count, 4> latest_{};
};

}  // namespace gopmill
