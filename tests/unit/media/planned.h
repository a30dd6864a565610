// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the planner share: a source that is told picture by picture, and its units.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "media/unit_planner.h"

namespace gopmill::test {

inline constexpr Rational kTimeBase{1, 90'000};

MATCHER_P3(IsUnit, first, end, cut, "") {
  return arg.first_frame == first && arg.end_frame == end && arg.cut == cut;
}

// A source at 25 fps described by its pictures in decode order.
class Plan {
 public:
  explicit Plan(PlannerOptions options = {}, Rational fps = {25, 1}) : fps_(fps) {
    options.source_fps = {25, 1};
    options.source_time_base = kTimeBase;
    planner_ = std::make_unique<UnitPlanner>(OutputGrid(fps, {25, 1}, kTimeBase, 0), options);
  }

  Plan& Picture(std::int64_t display, RandomAccess access = RandomAccess::kNone,
                std::int64_t bytes = 1000) {
    planner_->Push({.pts = display * 3600, .duration = 3600, .bytes = bytes, .access = access},
                   units_);
    return *this;
  }
  // `count` pictures in display order from `first` on, the first one a key picture.
  Plan& Gop(std::int64_t first, std::int64_t count, RandomAccess access = RandomAccess::kClosed) {
    Picture(first, access, 4000);
    for (std::int64_t i = 1; i < count; ++i) Picture(first + i);
    return *this;
  }
  // Decoded and not shown: it lies right behind picture `latest`.
  Plan& Hidden(std::int64_t latest, RandomAccess access = RandomAccess::kNone) {
    planner_->Push({.pts = latest * 3600 + 1, .bytes = 1000, .access = access, .hidden = true},
                   units_);
    return *this;
  }
  std::vector<UnitSpec> Units() {
    planner_->Finish(units_);
    return units_;
  }
  UnitPlanner& planner() { return *planner_; }
  std::vector<UnitSpec>& sofar() { return units_; }

 private:
  Rational fps_;
  std::unique_ptr<UnitPlanner> planner_;
  std::vector<UnitSpec> units_;
};

}  // namespace gopmill::test
