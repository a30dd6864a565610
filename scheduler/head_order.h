// SPDX-License-Identifier: Apache-2.0
//
// The heads of all lines in the order in which they are due: the earliest deadline first, then by
// arrival. A unit that becomes the head of a line that has waited for long belongs somewhere in the
// middle, so this is a balanced tree and not a list: with ten thousand lines a list was nine tenths
// of the scheduler's time.
//
// Guarantees: O(log n) to join and leave, O(1) amortised to go on; no allocation from the system
// except when there are more heads than ever before.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <set>

#include "base/clock.h"
#include "scheduler/unit_list.h"

namespace gopmill {

class HeadOrder {
 public:
  struct Key {
    TimePoint due;
    std::uint64_t sequence = 0;
    UnitRef unit;
    friend bool operator<(const Key& a, const Key& b) {
      return a.due != b.due ? a.due < b.due : a.sequence < b.sequence;
    }
  };
  // Where a unit is; kept in the unit, meaningful while it is a head.
  using Place = std::pmr::set<Key>::iterator;

  explicit HeadOrder(std::pmr::memory_resource* memory) : keys_(memory) {}

  Place Join(const Key& key) { return keys_.insert(key).first; }
  void Leave(Place place) { keys_.erase(place); }
  [[nodiscard]] UnitRef front() const { return keys_.empty() ? UnitRef{} : keys_.begin()->unit; }
  [[nodiscard]] UnitRef After(Place place) const {
    return ++place == keys_.end() ? UnitRef{} : place->unit;
  }

 private:
  std::pmr::set<Key> keys_;
};

}  // namespace gopmill
