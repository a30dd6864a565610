// SPDX-License-Identifier: Apache-2.0
//
// The planner cuts packets into units. Every output frame belongs to exactly one unit, whatever the
// GOP structure; where and how it cuts is told by scenario.
#include "media/unit_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>

#include "base/clock.h"
#include "tests/unit/media/planned.h"

namespace gopmill {
namespace {

using test::IsUnit;
using test::kTimeBase;
using test::Plan;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;

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

// An edit list: 50 pictures, and 50 of a GOP whose first ten are not shown.
TEST(UnitPlanner, WhatIsHiddenIsDecodedAndHasNoFrames) {
  Plan plan;
  plan.Gop(0, 50);
  for (int i = 0; i < 10; ++i)
    plan.Hidden(49, i == 0 ? RandomAccess::kClosed : RandomAccess::kNone);
  for (int i = 50; i < 100; ++i) plan.Picture(i);
  for (int i = 0; i < 100; ++i) plan.Hidden(99);
  const auto units = plan.Units();
  EXPECT_THAT(units, ElementsAre(IsUnit(0, 13, CutKind::kClosed), IsUnit(13, 56, CutKind::kChained),
                                 IsUnit(56, 100, CutKind::kChained)));
  EXPECT_EQ(units.back().end_packet, 210);
  EXPECT_THAT(Plan().Hidden(0).Units(), testing::IsEmpty());
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
  plan.Picture(10, RandomAccess::kRecovery).Picture(8).Picture(9).Picture(11).Picture(12);
  const auto units = plan.Units();
  ASSERT_THAT(units,
              ElementsAre(IsUnit(0, 10, CutKind::kClosed), IsUnit(10, 13, CutKind::kPreroll)));
  EXPECT_EQ(units[0].end_packet, 11) << "key picture and its leading pictures included";
  EXPECT_EQ(units[1].first_packet, 0) << "preroll from the key picture before";
}

TEST(UnitPlanner, OpenGopThatIsExactNeedsNothingBeforeItsKeyPicture) {
  for (const bool live : {false, true}) {
    Plan plan({.unit_seconds = 0, .live = live});
    plan.Gop(0, 8);
    plan.Picture(10, RandomAccess::kOpenGop).Picture(8).Picture(9).Picture(11).Picture(12);
    const auto units = plan.Units();
    ASSERT_EQ(units.size(), 2U);
    EXPECT_EQ(units[0].end_packet, 11) << "its leading pictures are shown before the cut";
    EXPECT_EQ(units[1].first_packet, live ? 0 : 8);
    EXPECT_EQ(units[1].cut, CutKind::kPreroll);
  }
}

// Each field is a packet, the second half a picture behind the first.
TEST(UnitPlanner, TheSecondFieldOfAKeyPictureEndsNoLeadingPictures) {
  for (const bool live : {false, true}) {
    std::vector<UnitSpec> units;
    UnitPlanner planner(
        OutputGrid({25, 1}, {25, 1}, kTimeBase, 0),
        {.unit_seconds = 0, .source_fps = {25, 1}, .source_time_base = kTimeBase, .live = live});
    const auto fields = [&](std::int64_t display, RandomAccess access = RandomAccess::kNone) {
      planner.Push({.pts = display * 3600, .bytes = 1000, .access = access}, units);
      planner.Push({.pts = display * 3600 + 1800, .bytes = 1000}, units);
    };
    fields(0, RandomAccess::kClosed);
    for (int n = 1; n < 8; ++n) fields(n);
    for (const int n : {10, 8, 9, 13, 11, 12}) {
      fields(n, n == 10 ? RandomAccess::kRecovery : RandomAccess::kNone);
    }
    planner.Finish(units);
    ASSERT_EQ(units.size(), 2U);
    EXPECT_EQ(units[0].end_frame, 10);
    EXPECT_EQ(units[0].end_packet, 22) << "up to the second field of picture 9";
  }
}

TEST(UnitPlanner, LeadingPicturesOfAClosedGopStayBefore) {
  for (const bool lead : {false, true}) {
    Plan plan({.unit_seconds = 0, .closed_may_lead = true});
    plan.Gop(0, 8);
    plan.Picture(lead ? 10 : 8, RandomAccess::kClosed);
    if (lead) plan.Picture(8).Picture(9);
    plan.Picture(11).Picture(12);
    const auto units = plan.Units();
    ASSERT_EQ(units.size(), 2U);
    EXPECT_EQ(units[0].end_packet, lead ? 11 : 8);
    EXPECT_EQ(units[0].end_frame, lead ? 10 : 8);
    EXPECT_EQ(units[1].first_packet, 8);
    EXPECT_EQ(units[1].cut, CutKind::kClosed);
  }
}

TEST(UnitPlanner, FiltersInTimeLookAcrossAnExactCut) {
  Plan plan({.unit_seconds = 0, .temporal_context = 1});
  plan.Gop(0, 8);
  plan.Picture(10, RandomAccess::kOpenGop).Picture(8).Picture(9).Picture(11).Picture(12);
  EXPECT_EQ(plan.Units().back().first_packet, 0);
}

TEST(UnitPlanner, OpenGopsShareARunUntilItIsLong) {
  Plan plan;
  for (int gop = 0; gop < 12; ++gop) {
    plan.Gop(gop * 50, 50, gop == 0 ? RandomAccess::kClosed : RandomAccess::kRecovery);
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
      const auto access =
          gop == 0 || below(2) == 0 ? RandomAccess::kClosed : RandomAccess::kRecovery;
      const int lead = access == RandomAccess::kRecovery ? leading : 0;
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

// Pictures in the order of decoding, by their place in the order of display.
class Reordered {
 public:
  Reordered(Plan& plan, std::mt19937& random) : plan_(plan), random_(random) {}

  void Gop(bool closed) {
    const int leading = closed ? 0 : Below(4);
    const int key = static_cast<int>(order.size()) + leading;
    Add(key, closed ? RandomAccess::kClosed : RandomAccess::kRecovery);
    for (int i = leading; i > 0; --i) Add(key - i, RandomAccess::kNone);
    int pictures = Below(Below(4) == 0 ? 120 : 12);
    for (int next = key + 1; pictures > 0;) {
      const int group = 1 + Below(std::min(pictures, 8));
      Add(next + group - 1, RandomAccess::kNone);
      for (int i = 0; i + 1 < group; ++i) Add(next + i, RandomAccess::kNone);
      next += group;
      pictures -= group;
    }
  }
  [[nodiscard]] int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::vector<int> order;

 private:
  void Add(int display, RandomAccess access) {
    order.push_back(display);
    plan_.Picture(display, access);
  }

  Plan& plan_;
  std::mt19937& random_;
};

// Whether packets [first, end) have every picture of displays [from, until) that is shown no
// earlier than the first of them.
bool HaveAll(const std::vector<int>& order, std::int64_t first, std::int64_t end, std::int64_t from,
             std::int64_t until) {
  const int entry = order[static_cast<std::size_t>(first)];
  std::int64_t found = 0;
  for (std::int64_t n = first; n < end; ++n) {
    const int display = order[static_cast<std::size_t>(n)];
    if (display >= entry && display >= from && display < until) ++found;
  }
  return found == until - from;
}

TEST(UnitPlannerProperty, FiltersInTimeHaveTheirNeighboursOnBothSidesOfACut) {
  int cuts = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const int context = 1 + static_cast<int>(random() % 5);
    Plan plan({.unit_seconds = random() % 2 == 0 ? 0.0 : 1.0, .temporal_context = context});
    Reordered source(plan, random);
    source.Gop(true);
    const int gops = 10 + source.Below(60);
    const bool may_be_open = source.Below(2) == 0;
    for (int gop = 0; gop < gops; ++gop) source.Gop(!may_be_open || source.Below(2) == 0);
    const auto units = plan.Units();
    const auto last = static_cast<std::int64_t>(source.order.size());
    std::int64_t run = 0;  // first packet of the run
    for (const UnitSpec& unit : units) {
      ASSERT_NE(unit.index.value > 0 && unit.cut == CutKind::kClosed, true) << "seed " << seed;
      if (unit.cut != CutKind::kChained) run = unit.first_packet;
      if (unit.cut == CutKind::kPreroll) {
        ++cuts;
        const std::int64_t from = std::max<std::int64_t>(0, unit.first_frame - context);
        EXPECT_TRUE(run == 0 || HaveAll(source.order, run, unit.end_packet, from, unit.first_frame))
            << "seed " << seed << " unit " << unit.index.value;
      }
      const std::int64_t until = std::min(last, unit.end_frame + context);
      EXPECT_TRUE(HaveAll(source.order, run, unit.end_packet, unit.first_frame, until))
          << "seed " << seed << " unit " << unit.index.value;
    }
  }
  EXPECT_GT(cuts, 1000);
}

TEST(UnitPlanner, AnIntraOnlySourceHasPrerollOfAsManyPicturesAsFiltersLookAt) {
  Plan plan({.unit_seconds = 1, .temporal_context = 3});
  for (int n = 0; n < 500; ++n) plan.Gop(n, 1);
  int cuts = 0;
  for (const UnitSpec& unit : plan.Units()) {
    if (unit.cut != CutKind::kPreroll) continue;
    EXPECT_EQ(unit.first_frame - unit.first_packet, 3);
    ++cuts;
  }
  EXPECT_EQ(cuts, 9) << "so little to decode twice: no need to wait for long runs";
}

// After a recovery point a decoder may need as long as a GOP until its pictures are exact.
TEST(UnitPlanner, FiltersInTimeGetPicturesFromBehindAnotherRecoveryPoint) {
  Plan plan({.unit_seconds = 0, .temporal_context = 2});
  for (int gop = 0; gop < 10; ++gop) {
    plan.Gop(gop * 30, 30, gop == 0 ? RandomAccess::kClosed : RandomAccess::kRecovery);
  }
  int cuts = 0;
  for (const UnitSpec& unit : plan.Units()) {
    if (unit.cut != CutKind::kPreroll) continue;
    EXPECT_EQ(unit.first_packet, std::max<std::int64_t>(0, unit.first_frame - 60));
    ++cuts;
  }
  EXPECT_EQ(cuts, 9);
}

TEST(UnitPlanner, AStartInsideTheMovieKeepsWhatFiltersLookAtAndNoMore) {
  Plan whole({.unit_seconds = 1, .temporal_context = 3});
  for (int gop = 0; gop < 20; ++gop) whole.Gop(gop * 25 - 300, 25);
  EXPECT_EQ(whole.Units().front().first_packet, 275) << "the group before the first frame";
}

// A damaged file may have a block twice: what is shown later is in the first one alone.
TEST(UnitPlanner, ASourceThatHasItsBeginningTwiceKeepsBoth) {
  Plan plan({.unit_seconds = 2});
  plan.Gop(0, 20);
  plan.Gop(0, 12);
  const auto units = plan.Units();
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units.front().first_packet, 0);
  EXPECT_EQ(units.front().end_frame, 20);
}

// What a cut would be decoded from may be gone, also where no cut was thought of at its key
// picture.
TEST(UnitPlanner, FiltersInTimeGetNoPicturesThatAreGone) {
  Plan plan({.unit_seconds = 0.5, .live = true, .temporal_context = 4});
  std::int64_t display = 0;
  const auto add = [&](RandomAccess access, std::int64_t bytes, bool gap = false) {
    plan.planner().Push({.pts = display++ * 3600,
                         .duration = 3600,
                         .bytes = bytes,
                         .access = access,
                         .after_gap = gap},
                        plan.sofar());
  };
  for (int n = 0; n < 255; ++n) {
    add(n == 0 ? RandomAccess::kClosed : RandomAccess::kNone, kMaxPrerollBytes / 100);
  }
  const std::int64_t oldest = plan.planner().oldest_needed();
  ASSERT_GT(oldest, 0);
  add(RandomAccess::kClosed, 1000);
  add(RandomAccess::kNone, 1000);
  add(RandomAccess::kClosed, 1000, true);
  for (int n = 0; n < 40; ++n) add(RandomAccess::kNone, 1000);
  for (const UnitSpec& unit : plan.Units()) {
    if (unit.cut != CutKind::kPreroll) continue;
    EXPECT_GE(unit.first_packet, oldest);
  }
}

// Small pictures, too, are kept at a price each: those of a run are let go.
TEST(UnitPlanner, NoPrerollIsKeptOfMorePicturesThanFitWhateverTheirSize) {
  constexpr std::int64_t kMost = kMaxPrerollBytes / kPacketOverhead;
  Plan plan({.unit_seconds = 2});
  std::int64_t display = 0;
  const auto add = [&](RandomAccess access) {
    plan.planner().Push({.pts = display++ * 3600, .duration = 3600, .bytes = 1, .access = access},
                        plan.sofar());
  };
  add(RandomAccess::kClosed);
  for (std::int64_t n = 0; n < kMost / 2; ++n) add(RandomAccess::kNone);
  EXPECT_EQ(plan.planner().oldest_needed(), 0);
  for (std::int64_t n = 0; n < kMost / 2; ++n) add(RandomAccess::kNone);
  EXPECT_GT(plan.planner().oldest_needed(), kMost / 2);
  add(RandomAccess::kOpenGop);
  for (int n = 0; n < 100; ++n) add(RandomAccess::kNone);
  for (const UnitSpec& unit : plan.Units()) EXPECT_NE(unit.cut, CutKind::kPreroll);
}

// What each packet costs does not grow with those before it: twice as many, twice the time.
class HostilePackets : public ::testing::TestWithParam<PlannerOptions> {
 protected:
  using Make = std::function<PacketMeta(std::int64_t)>;
  void ExpectSteady(const Make& make) {
    constexpr std::int64_t kMany = 250'000;
    const auto spent = [&](std::int64_t packets) {
      Plan plan(GetParam());
      const Duration before = ThreadCpuNow();
      for (std::int64_t n = 0; n < packets; ++n) plan.planner().Push(make(n), plan.sofar());
      return ThreadCpuNow() - before;
    };
    const Duration few = std::max<Duration>(spent(kMany / 16), std::chrono::milliseconds(1));
    EXPECT_LT(spent(kMany), 64 * few) << "16 times as many, not 256 times the time";
  }
};

TEST_P(HostilePackets, BeforeAPictureThatIsFarAhead) {
  ExpectSteady([](std::int64_t n) {
    return PacketMeta{.pts = n == 1 ? 60 * 90'000 : n / 8,
                      .bytes = 1,
                      .access = n == 0 ? RandomAccess::kClosed : RandomAccess::kNone};
  });
}

TEST_P(HostilePackets, ThatAreAllKeysWhoseTimesFall) {
  ExpectSteady([](std::int64_t n) {
    return PacketMeta{.pts = 900'000 - n, .bytes = 1, .access = RandomAccess::kClosed};
  });
}

INSTANTIATE_TEST_SUITE_P(UnitPlanner, HostilePackets,
                         testing::Values(PlannerOptions{.unit_seconds = 2},
                                         PlannerOptions{.unit_seconds = 2, .temporal_context = 4},
                                         PlannerOptions{.unit_seconds = 0.5, .live = true}));

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

}  // namespace
}  // namespace gopmill
