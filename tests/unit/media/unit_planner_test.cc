// SPDX-License-Identifier: Apache-2.0
//
// The planner cuts packets into units. Every output frame belongs to exactly one unit, whatever the
// GOP structure; where and how it cuts is told by scenario.
#include "media/unit_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gopmill {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;

constexpr Rational kTimeBase{1, 90'000};

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

TEST(UnitPlanner, CutsAtClosedGopsOfTheUnitLength) {
  Plan plan;
  for (int gop = 0; gop < 4; ++gop) plan.Gop(gop * 50, 50);
  // The first unit is split off short, so that the first byte is early.
  EXPECT_THAT(plan.Units(),
              ElementsAre(IsUnit(0, 13, CutKind::kClosed), IsUnit(13, 50, CutKind::kChained),
                          IsUnit(50, 100, CutKind::kClosed), IsUnit(100, 150, CutKind::kClosed),
                          IsUnit(150, 200, CutKind::kClosed)));
}

TEST(UnitPlanner, MergesShortGops) {
  Plan plan;
  for (int gop = 0; gop < 20; ++gop) plan.Gop(gop * 10, 10);
  const auto units = plan.Units();
  EXPECT_THAT(units.front(), IsUnit(0, 10, CutKind::kClosed));
  for (std::size_t i = 1; i + 1 < units.size(); ++i) {
    EXPECT_EQ(units[i].frame_count(), 40) << "seven tenths of two seconds, to the next GOP";
    EXPECT_EQ(units[i].cut, CutKind::kClosed);
    EXPECT_TRUE(units[i].ends_run);
  }
}

TEST(UnitPlanner, SplitsALongGopIntoChainedUnits) {
  Plan plan;
  plan.Gop(0, 260);
  EXPECT_THAT(plan.Units(),
              ElementsAre(IsUnit(0, 13, CutKind::kClosed), IsUnit(13, 63, CutKind::kChained),
                          IsUnit(63, 113, CutKind::kChained), IsUnit(113, 163, CutKind::kChained),
                          IsUnit(163, 211, CutKind::kChained), IsUnit(211, 260, CutKind::kChained)))
      << "the last 3.9 s are two units";
}

TEST(UnitPlanner, OnlyTheLastUnitOfARunEndsIt) {
  Plan plan;
  plan.Gop(0, 260).Gop(260, 50);
  const auto units = plan.Units();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool next_chained = i + 1 < units.size() && units[i + 1].cut == CutKind::kChained;
    EXPECT_EQ(units[i].ends_run, !next_chained) << "unit " << i;
  }
}

TEST(UnitPlanner, OneGopPerUnitWhenAsked) {
  Plan plan({.unit_seconds = 0});
  for (int gop = 0; gop < 3; ++gop) plan.Gop(gop * 15, 15);
  EXPECT_THAT(plan.Units(),
              ElementsAre(IsUnit(0, 15, CutKind::kClosed), IsUnit(15, 30, CutKind::kClosed),
                          IsUnit(30, 45, CutKind::kClosed)));
}

TEST(UnitPlanner, OpenGopIsCutWithPrerollAndItsLeadingPicturesStayBefore) {
  Plan plan({.unit_seconds = 0});
  plan.Gop(0, 8);
  // Decode order I10 B8 B9 P11...: pictures 8 and 9 lead the open key picture 10.
  plan.Picture(10, RandomAccess::kOpen).Picture(8).Picture(9).Picture(11).Picture(12);
  const auto units = plan.Units();
  ASSERT_THAT(units,
              ElementsAre(IsUnit(0, 10, CutKind::kClosed), IsUnit(10, 13, CutKind::kPreroll)));
  EXPECT_EQ(units[0].end_packet, 11) << "key picture and its leading pictures included";
  EXPECT_EQ(units[1].first_packet, 0) << "preroll from the key picture before";
}

TEST(UnitPlanner, OpenGopsShareARunUntilItIsLong) {
  Plan plan;
  for (int gop = 0; gop < 12; ++gop) {
    plan.Gop(gop * 50, 50, gop == 0 ? RandomAccess::kClosed : RandomAccess::kOpen);
  }
  const auto units = plan.Units();
  const auto prerolls = std::count_if(units.begin(), units.end(),
                                      [](const UnitSpec& u) { return u.cut == CutKind::kPreroll; });
  EXPECT_EQ(prerolls, 2) << "24 s in runs of 8 s";
}

TEST(UnitPlanner, StopsAtTheFrameLimit) {
  Plan plan({.frame_limit = 70});
  for (int gop = 0; gop < 4; ++gop) plan.Gop(gop * 50, 50);
  EXPECT_TRUE(plan.planner().done());
  const auto units = plan.Units();
  EXPECT_EQ(units.back().end_frame, 70);
  EXPECT_TRUE(units.back().ends_run);
}

TEST(UnitPlanner, SlowOutputRateNeverMakesEmptyUnits) {
  Plan plan({}, {1, 1});
  for (int gop = 0; gop < 40; ++gop) plan.Gop(gop * 5, 5);
  const auto units = plan.Units();
  for (const UnitSpec& unit : units) EXPECT_GT(unit.frame_count(), 0);
  EXPECT_EQ(units.back().end_frame, 8);
}

TEST(UnitPlanner, SingleFrameSourceIsOneUnit) {
  Plan plan;
  plan.Gop(0, 1);
  EXPECT_THAT(plan.Units(), ElementsAre(IsUnit(0, 1, CutKind::kClosed)));
}

TEST(UnitPlanner, NothingInNothingOut) { EXPECT_TRUE(Plan().Units().empty()); }

TEST(UnitPlanner, BudgetsFollowTheSourcesBytesAndKeepTheMean) {
  Plan plan({.bitrate = 1'000'000});
  for (int gop = 0; gop < 30; ++gop) {
    for (int i = 0; i < 50; ++i) {
      plan.Picture(gop * 50 + i, i == 0 ? RandomAccess::kClosed : RandomAccess::kNone,
                   gop % 2 == 0 ? 500 : 4000);
    }
  }
  const auto units = plan.Units();
  double bits = 0, seconds = 0, easy = 0, hard = 0;
  for (const UnitSpec& unit : units) {
    const double length = static_cast<double>(unit.frame_count()) / 25.0;
    bits += static_cast<double>(unit.budget_bps) * length;
    seconds += length;
    if (unit.first_frame >= 1000) {
      (unit.first_frame / 50 % 2 == 0 ? easy : hard) = static_cast<double>(unit.budget_bps);
    }
  }
  EXPECT_NEAR(bits / seconds, 1'000'000, 20'000);
  EXPECT_GT(hard, 1.2 * easy);
}

// Any GOP structure: units tile the output frames, chain rules hold, packets are kept long enough.
TEST(UnitPlannerProperty, UnitsTileTheOutputWhateverTheSource) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const Rational fps =
        std::array{Rational{25, 1}, Rational{15, 1}, Rational{30000, 1001}, Rational{60, 1},
                   Rational{2, 1}}[static_cast<unsigned>(below(5))];
    Plan plan({.unit_seconds = below(3) == 0 ? 0.0 : 0.5 + below(4), .bitrate = 500'000}, fps);
    std::int64_t display = 0;
    const int gops = 1 + below(30);
    for (int gop = 0; gop < gops; ++gop) {
      const int leading = gop == 0 ? 0 : below(3);
      const auto access = gop == 0 || below(2) == 0 ? RandomAccess::kClosed : RandomAccess::kOpen;
      const int lead = access == RandomAccess::kOpen ? leading : 0;
      plan.Picture(display + lead, access, 100 + below(5000));
      for (int i = 0; i < lead; ++i) plan.Picture(display + i);
      const int trailing = below(below(4) == 0 ? 400 : 40);
      for (int i = 1; i <= trailing; ++i) plan.Picture(display + lead + i, RandomAccess::kNone, 50);
      display += lead + trailing + 1;
    }
    const auto units = plan.Units();
    ASSERT_FALSE(units.empty()) << "seed " << seed;
    std::int64_t next = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const UnitSpec& unit = units[i];
      ASSERT_EQ(unit.index.value, static_cast<std::int64_t>(i)) << "seed " << seed;
      ASSERT_EQ(unit.first_frame, next) << "seed " << seed;
      ASSERT_GT(unit.end_frame, unit.first_frame) << "seed " << seed;
      ASSERT_LE(unit.first_packet, unit.end_packet) << "seed " << seed;
      if (unit.cut == CutKind::kChained) {
        ASSERT_FALSE(units[i - 1].ends_run) << "seed " << seed;
      } else if (i > 0) {
        ASSERT_TRUE(units[i - 1].ends_run) << "seed " << seed;
      }
      next = unit.end_frame;
    }
    const OutputGrid grid(fps, {25, 1}, kTimeBase, 0);
    EXPECT_EQ(next, grid.FrameCount(display * 3600)) << "seed " << seed;
  }
}

// A live source's unit is there as soon as it is full and its last pictures have left the decoder.
// Units are not preempted: one of hours would keep its worker for as long.
TEST(UnitPlanner, APictureThatIsShownForAnHourIsManyUnits) {
  for (const double unit : {2.0, 0.0}) {
    Plan plan({.unit_seconds = unit});
    plan.planner().Push(
        {.pts = 0, .duration = 3600 * 90'000, .bytes = 1000, .access = RandomAccess::kClosed},
        plan.sofar());
    const auto units = plan.Units();
    EXPECT_EQ(units.back().end_frame, 90'000);
    for (const UnitSpec& one : units) {
      EXPECT_LE(one.frame_count(), unit > 0 ? 70 : 1500);
      EXPECT_EQ(one.cut, one.first_frame == 0 ? CutKind::kClosed : CutKind::kChained);
      EXPECT_EQ(one.ends_run, one.end_frame == 90'000);
    }
  }
}

// A camera that sends one picture a second, asked for at 25.
TEST(LivePlanner, CutsAsManyUnitsAsAPictureFills) {
  Plan plan({.unit_seconds = 0.5, .live = true});
  plan.Picture(0, RandomAccess::kClosed);
  for (std::int64_t n = 1; n < 10; ++n) {
    plan.Picture(25 * n);
    EXPECT_GE(plan.sofar().back().end_frame, 25 * n - 13) << "nothing waits for a key frame";
  }
}

TEST(LivePlanner, CutsAsSoonAsAUnitIsFull) {
  Plan plan({.unit_seconds = 0.4, .live = true, .reorder_delay = 0});
  plan.Gop(0, 14);
  // The first unit has half a second, 13 pictures; the one behind shows how long its last one is
  // shown, and one more that the decoder has let go of it.
  EXPECT_THAT(plan.sofar(), testing::IsEmpty());
  plan.Picture(14);
  EXPECT_THAT(plan.sofar(), ElementsAre(IsUnit(0, 13, CutKind::kClosed)));
  for (int i = 15; i < 25; ++i) plan.Picture(i);
  EXPECT_THAT(plan.sofar(),
              ElementsAre(IsUnit(0, 13, CutKind::kClosed), IsUnit(13, 23, CutKind::kChained)));
  plan.Gop(25, 5);
  EXPECT_EQ(plan.Units().back().end_frame, 30);
}

TEST(LivePlanner, WaitsForWhatTheDecoderHoldsBack) {
  Plan plan({.unit_seconds = 0.4, .live = true, .reorder_delay = 2});
  plan.Gop(0, 16);
  EXPECT_THAT(plan.sofar(), testing::IsEmpty());
  plan.Picture(16);
  EXPECT_EQ(plan.sofar().size(), 1U);
}

// Pieces of GOPs: three pictures at 25 a second are 0.12 s.
PlannerOptions InPieces(double gop_seconds, int reorder_delay = 0) {
  return {.unit_seconds = 0.12,
          .bitrate = 500'000,
          .live = true,
          .reorder_delay = reorder_delay,
          .gop_seconds = gop_seconds};
}

MATCHER_P3(IsPiece, first, end, offset, "") {
  return arg.first_frame == first && arg.end_frame == end && arg.gop_offset == offset;
}

TEST(LivePlanner, APieceIsThereWhenThePictureBehindItIs) {
  Plan plan(InPieces(1));
  plan.Gop(0, 3);
  EXPECT_THAT(plan.sofar(), testing::IsEmpty());
  plan.Picture(3);
  EXPECT_THAT(plan.sofar(), ElementsAre(IsPiece(0, 3, 0)));
  plan.Picture(4).Picture(5).Picture(6);
  EXPECT_THAT(plan.sofar(), ElementsAre(IsPiece(0, 3, 0), IsPiece(3, 6, 3)));
}

TEST(LivePlanner, AGopEndsAtAKeyPictureThatComesLateEnough) {
  Plan plan(InPieces(1));
  plan.Gop(0, 10).Gop(10, 10).Gop(20, 10);
  EXPECT_THAT(plan.Units(), ElementsAre(IsPiece(0, 3, 0), IsPiece(3, 6, 3), IsPiece(6, 9, 6),
                                        IsPiece(9, 12, 9), IsPiece(12, 15, 12), IsPiece(15, 18, 15),
                                        IsPiece(18, 20, 18), IsPiece(20, 23, 0), IsPiece(23, 26, 3),
                                        IsPiece(26, 29, 6), IsPiece(29, 30, 9)));
  for (const UnitSpec& unit : plan.Units()) {
    EXPECT_EQ(unit.ends_gop, unit.end_frame == 20 || unit.end_frame == 30);
    EXPECT_EQ(unit.ends_run, unit.ends_gop);
    EXPECT_EQ(unit.budget_bps, 500'000) << "nothing that is to come is known";
    EXPECT_EQ(unit.gop_frames, unit.first_frame < 20 ? 25 : 20) << "as the one before";
  }
}

TEST(LivePlanner, ALongGopIsDividedAtItsLengthAndTheDecoderGoesOn) {
  Plan plan(InPieces(1));
  plan.Gop(0, 60);
  const auto units = plan.Units();
  for (const UnitSpec& unit : units) {
    const bool ends = unit.end_frame == 25 || unit.end_frame == 50 || unit.end_frame == 60;
    EXPECT_EQ(unit.ends_gop, ends) << unit.end_frame;
    EXPECT_EQ(unit.begins_gop(), unit.first_frame % 25 == 0) << unit.first_frame;
    EXPECT_EQ(unit.cut, unit.first_frame == 0 ? CutKind::kClosed : CutKind::kChained);
    EXPECT_EQ(unit.ends_run, unit.end_frame == 60);
  }
}

// With reordering the source's next key picture may come before the end of a GOP has been cut.
TEST(LivePlanner, TheRestOfASourceGopKnowsHowShortItIs) {
  Plan plan(InPieces(1, 5));
  plan.Gop(0, 29).Gop(29, 25);
  std::vector<std::int64_t> expected;
  for (const UnitSpec& unit : plan.Units()) {
    if (unit.begins_gop()) expected.push_back(unit.gop_frames);
  }
  EXPECT_THAT(expected, ElementsAre(25, 4, 18)) << "a second, what is left of 29, at least 0.7 s";
}

TEST(LivePlanner, APieceWaitsForPicturesThatTurnOutToBeReordered) {
  Plan plan(InPieces(10));
  plan.Picture(0, RandomAccess::kClosed);
  int late = 0;
  for (std::int64_t n = 1; n < 300; n += 3) {
    for (const std::int64_t display : {n + 2, n, n + 1}) {
      const std::size_t before = plan.sofar().size();
      plan.Picture(display);
      // A decoder with a delay of one has let go of all but the newest of those shown last.
      for (std::size_t i = before; i < plan.sofar().size(); ++i) {
        late += plan.sofar()[i].end_frame > n + (display == n + 2 ? 0
                                                 : display == n   ? 1
                                                                  : 2)
                    ? 1
                    : 0;
      }
    }
  }
  EXPECT_LE(late, 1) << "the first time nobody knew";
}

// 25 pictures of the source last for 30.03 of the output: no GOP of one picture.
TEST(LivePlanner, AGopMayEndAPictureLaterWhereTheRatesDoNotMeet) {
  Plan plan(InPieces(1), {30'030, 1'000});
  for (int gop = 0; gop < 5; ++gop) plan.Gop(25 * gop, 25);
  for (const UnitSpec& unit : plan.Units()) {
    EXPECT_LE(unit.end_frame - unit.gop_frame(), 31);
    EXPECT_TRUE(!unit.ends_gop || unit.end_frame - unit.gop_frame() >= 30);
  }
}

TEST(LivePlanner, EveryFrameIsInOnePieceWhateverTheSource) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Rational fps[] = {{25, 1}, {60, 1}, {15, 1}, {30'000, 1'001}, {1, 1}};
    const auto gops = static_cast<double>(1 + random() % 5);
    const Rational rate = fps[random() % 5];
    Plan plan(InPieces(0.4 * gops, static_cast<int>(random() % 3)), rate);
    std::int64_t display = 0;
    for (unsigned gop = 0; gop < 12; ++gop) {
      const auto access = random() % 4 == 0 ? RandomAccess::kOpen : RandomAccess::kClosed;
      plan.Picture(display++, access, 4000);
      for (auto left = random() % 40; left > 0; --left) {
        plan.Picture(display);
        display += random() % 30 == 0 ? 1 + static_cast<std::int64_t>(random() % 80) : 1;
      }
    }
    std::int64_t next = 0, gop = 0;
    bool ended = true;
    for (const UnitSpec& unit : plan.Units()) {
      ASSERT_EQ(unit.first_frame, next) << "seed " << seed;
      if (ended) gop = next;
      EXPECT_EQ(unit.gop_frame(), gop) << "seed " << seed;
      EXPECT_EQ(unit.begins_gop(), ended) << "seed " << seed;
      EXPECT_TRUE(unit.ends_gop || !unit.ends_run) << "seed " << seed;
      const double longest = 0.4 * gops + 0.12 + 1.5 / rate.ToDouble();
      EXPECT_LE(static_cast<double>(unit.end_frame - gop) / rate.ToDouble(), longest)
          << "seed " << seed;
      next = unit.end_frame;
      ended = unit.ends_gop;
    }
    EXPECT_TRUE(ended) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gopmill
