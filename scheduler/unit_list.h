// SPDX-License-Identifier: Apache-2.0
//
// Doubly linked lists of units that live in one vector of slots. A unit is in several lists at once
// (its stream's line, the heads of all lines, a worker's queue) and must leave any of them in O(1)
// without an allocation, so the links are in the unit.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <vector>

namespace gopmill {

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

// Names a unit while it is in the scheduler. Slots are used again afterwards.
struct UnitRef {
  std::uint32_t slot = kNoSlot;
  [[nodiscard]] bool valid() const { return slot != kNoSlot; }
  bool operator==(const UnitRef&) const = default;
};

struct UnitLink {
  UnitRef previous;
  UnitRef next;
  bool linked = false;
};

// The list through the member `kLink` of Unit. The functions take the vector the units live in; it
// may grow between calls.
template <class Unit, UnitLink Unit::*kLink>
class UnitList {
 public:
  using Slots = std::vector<Unit>;

  [[nodiscard]] UnitRef front() const { return front_; }
  [[nodiscard]] UnitRef back() const { return back_; }
  [[nodiscard]] bool empty() const { return !front_.valid(); }
  static UnitRef Next(const Slots& slots, UnitRef ref) { return (slots[ref.slot].*kLink).next; }

  // Puts `ref` behind `place`; an invalid place is the front.
  void InsertAfter(Slots& slots, UnitRef place, UnitRef ref) {
    UnitLink& link = slots[ref.slot].*kLink;
    link = {.previous = place,
            .next = place.valid() ? (slots[place.slot].*kLink).next : front_,
            .linked = true};
    (place.valid() ? (slots[place.slot].*kLink).next : front_) = ref;
    (link.next.valid() ? (slots[link.next.slot].*kLink).previous : back_) = ref;
  }
  void PushBack(Slots& slots, UnitRef ref) { InsertAfter(slots, back_, ref); }

  void Remove(Slots& slots, UnitRef ref) {
    UnitLink& link = slots[ref.slot].*kLink;
    (link.previous.valid() ? (slots[link.previous.slot].*kLink).next : front_) = link.next;
    (link.next.valid() ? (slots[link.next.slot].*kLink).previous : back_) = link.previous;
    link = {};
  }

 private:
  UnitRef front_;
  UnitRef back_;
};

}  // namespace gopmill
