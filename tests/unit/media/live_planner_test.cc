// SPDX-License-Identifier: Apache-2.0
//
// How live sources are cut: whole units as soon as they are full, and GOPs in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/media/planned.h"

namespace gopmill {
namespace {

using test::IsUnit;
using test::Plan;
using testing::ElementsAre;

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
                                        IsPiece(18, 20, 18), IsPiece(20, 21, 0), IsPiece(21, 24, 1),
                                        IsPiece(24, 27, 4), IsPiece(27, 30, 7)))
      << "pieces of later GOPs lie where those of another reader would";
  for (const UnitSpec& unit : plan.Units()) {
    EXPECT_EQ(unit.ends_gop, unit.end_frame == 20 || unit.end_frame == 30);
    EXPECT_EQ(unit.ends_run, unit.ends_gop);
    EXPECT_EQ(unit.budget_bps, 500'000) << "nothing that is to come is known";
    EXPECT_EQ(unit.gop_frames, unit.first_frame < 20 ? 25 : 20) << "as the one before";
  }
}

// The pictures of a unit depend on nothing before the latest key picture, if that shows nothing
// older, whether or not the run went on there.
TEST(LivePlanner, AUnitKnowsWhereItsDecoderMightHaveBegun) {
  Plan plan(InPieces(1));
  plan.Gop(0, 10).Gop(10, 10).Gop(20, 10);
  for (const UnitSpec& unit : plan.Units()) {
    const std::int64_t latest = unit.first_frame < 10 ? 0 : unit.first_frame < 20 ? 10 : 20;
    EXPECT_EQ(unit.sync_packet, latest) << unit.first_frame;
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
      const auto access = random() % 4 == 0 ? RandomAccess::kRecovery : RandomAccess::kClosed;
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

// Whether units follow each other without a hole, and each run and each GOP has an end.
void ExpectWhole(const std::vector<UnitSpec>& units) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    const UnitSpec& unit = units[i];
    EXPECT_LT(unit.first_frame, unit.end_frame);
    const bool last = i + 1 == units.size();
    EXPECT_EQ(unit.ends_run, last || units[i + 1].cut != CutKind::kChained) << i;
    EXPECT_EQ(unit.ends_gop, last || units[i + 1].begins_gop()) << i;
    if (last) continue;
    EXPECT_EQ(units[i + 1].first_frame, unit.end_frame);
    EXPECT_TRUE(unit.ends_gop || !unit.ends_run) << i;
  }
}

TEST(LivePlanner, AnotherCodingHasARunOfItsOwn) {
  for (const double gop_seconds : {0.0, 1.0}) {
    Plan plan(gop_seconds > 0 ? InPieces(1, 2) : PlannerOptions{.unit_seconds = 0.5, .live = true});
    plan.Gop(0, 14);
    plan.planner().ChangeCoding({.fps = {25, 1}}, 14 * 3600, plan.sofar());
    const auto before = plan.sofar();
    ASSERT_FALSE(before.empty());
    EXPECT_EQ(before.back().end_frame, 14) << "what came before it is all there";
    EXPECT_EQ(before.back().end_packet, 14);
    EXPECT_EQ(plan.planner().oldest_needed(), 14) << "and not needed any more";
    plan.Gop(14, 20, RandomAccess::kRecovery);
    const auto units = plan.Units();
    ExpectWhole(units);
    const auto first = std::ranges::find(units, 14, &UnitSpec::first_frame);
    ASSERT_NE(first, units.end());
    EXPECT_EQ(first->cut, CutKind::kClosed) << "its decoder knows nothing of what was before";
    EXPECT_EQ(first->first_packet, 14);
    EXPECT_EQ(first->sync_packet, 14);
  }
}

// Whatever has been cut when the coding changes, and wherever the first picture of the new one
// lies.
TEST(LivePlanner, AnotherCodingLeavesNoRunWithoutAnEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const bool pieces = random() % 2 == 0;
    Plan plan(pieces ? InPieces(0.5, static_cast<int>(random() % 3))
                     : PlannerOptions{.unit_seconds = 0.24, .live = true});
    std::int64_t next = 0;
    for (int part = 0; part < 4; ++part) {
      const auto count = static_cast<std::int64_t>(1 + random() % 30);
      plan.Gop(next, count, random() % 2 == 0 ? RandomAccess::kClosed : RandomAccess::kRecovery);
      // With another reordering its first picture may lie before the last one, or later.
      next = std::max<std::int64_t>(0, next + count - 2 + static_cast<std::int64_t>(random() % 6));
      plan.planner().ChangeCoding({.fps = {25, 1}, .reorder_delay = static_cast<int>(random() % 3)},
                                  next * 3600, plan.sofar());
    }
    plan.Gop(next, 5);
    ExpectWhole(plan.Units());
    EXPECT_EQ(plan.sofar().front().first_frame, 0);
  }
}

// What is decoded of an open source between two cuts that all streams make: the first packet of the
// run, and the one behind its last; counted from the source's first.
using Packets = std::pair<std::int64_t, std::int64_t>;
std::vector<Packets> SharedRuns(Plan& plan, std::int64_t first, std::int64_t pictures) {
  constexpr std::int64_t kGop = 12, kEachCut = 200;
  for (std::int64_t n = first; n < pictures; n += kGop) {
    // In decode order: the key picture, two that are shown before it, the others.
    plan.planner().Push({.pts = (n + 2) * 3600,
                         .duration = 3600,
                         .bytes = 4000,
                         .access = n == 0 ? RandomAccess::kClosed : RandomAccess::kRecovery,
                         .cut_here = n / kEachCut != (n - kGop) / kEachCut},
                        plan.sofar());
    plan.Picture(n).Picture(n + 1);
    for (std::int64_t i = 3; i < kGop; ++i) plan.Picture(n + i);
  }
  std::vector<Packets> runs;
  for (const UnitSpec& unit : plan.Units()) {
    if (unit.cut_by_all) {
      EXPECT_EQ(unit.cut, CutKind::kPreroll);
      EXPECT_TRUE(unit.begins_gop());
      runs.emplace_back(first + unit.first_packet, 0);
    }
    if (unit.ends_run && !runs.empty()) runs.back().second = first + unit.end_packet;
  }
  return runs;
}

TEST(LivePlanner, AllStreamsOfAnOpenSourceCutTheirRunsAtTheSamePackets) {
  constexpr std::int64_t kMinute = 1500;
  const auto with = [](PlannerOptions options, int context) {
    options.temporal_context = context;
    return options;
  };
  const PlannerOptions whole{.unit_seconds = 0.5, .live = true};
  for (const int context : {0, 1}) {
    Plan plan(with(InPieces(1), context));
    const auto expected = SharedRuns(plan, 0, kMinute);
    EXPECT_EQ(expected.size(), 7U);  // each eight seconds
    const auto expect_same = [&](PlannerOptions options, Rational fps, std::int64_t first) {
      Plan other(with(options, context), fps);
      const auto runs = SharedRuns(other, first, kMinute);
      ASSERT_GE(runs.size(), 5U);
      EXPECT_TRUE(std::equal(runs.rbegin(), runs.rend(), expected.rbegin()));
    };
    expect_same(InPieces(4), {25, 1}, 0);
    expect_same(InPieces(1), {10, 1}, 12 * 9);
    expect_same(InPieces(0.7), {30, 1}, 12 * 21);
    expect_same(whole, {25, 1}, 12 * 4);
  }
}

TEST(LivePlanner, AStreamOfSingleGopsCutsForItselfAlone) {
  Plan plan({.unit_seconds = 0, .live = true});
  EXPECT_THAT(SharedRuns(plan, 0, 1000), testing::IsEmpty());
}

}  // namespace
}  // namespace gopmill
