// SPDX-License-Identifier: Apache-2.0
#include "server/stream/demand_table.h"

#include <gtest/gtest.h>

#include "tests/unit/stream/plans.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using test::CostOf;
using test::SquarePlan;

TEST(DemandTableTest, BeforeAnyUnitItGoesByPixels) {
  const DemandTable table;
  const double small = ToSeconds(table.FrameTime(SquarePlan(100, 25)));
  const double large = ToSeconds(table.FrameTime(SquarePlan(200, 25)));
  EXPECT_NEAR(small, 10'000 * (1 + kDecodeWeight) * kNanosPerPixel * 1e-9, 1e-9);
  EXPECT_NEAR(large / small, 4, 1e-3);
}

TEST(DemandTableTest, LearnsAKindAndPredictsOthersByTheirPixels) {
  DemandTable table;
  table.Learn(SquarePlan(100, 25), CostOf(milliseconds(60), 50, milliseconds(10)));
  EXPECT_NEAR(ToMillis(table.FrameTime(SquarePlan(100, 25))), 1, 1e-3) << "without the opening";
  EXPECT_NEAR(ToMillis(table.FrameTime(SquarePlan(200, 25))), 4, 1e-2);
  EXPECT_GT(table.Opening(), Duration::zero());
}

TEST(DemandTableTest, FollowsTheContents) {
  DemandTable table;
  const StreamPlan plan = SquarePlan(100, 25);
  table.Learn(plan, CostOf(milliseconds(50), 50));
  for (int i = 0; i < 60; ++i) table.Learn(plan, CostOf(milliseconds(150), 50));
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 3, 0.01);
}

// Its encoder has nothing to share its work with; a movie's last frame, asked for by itself.
TEST(DemandTableTest, AUnitOfOneFrameSaysLittle) {
  const StreamPlan plan = SquarePlan(100, 25), other = SquarePlan(200, 25);
  DemandTable table;
  const double before = ToMillis(table.FrameTime(plan)),
               of_other = ToMillis(table.FrameTime(other));
  table.Learn(plan, CostOf(milliseconds(2), 1));
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), before + 0.08 * (2 - before), 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(other)) / of_other, ToMillis(table.FrameTime(plan)) / before,
              1e-3)
      << "nor of what was never seen";
  table.Learn(plan, CostOf(milliseconds(50), 50));
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 1, 0.1) << "what is whole counts from the first on";
}

// A live stream in pieces of a GOP.
TEST(DemandTableTest, ShortUnitsAreBelievedOnceTheyAreMany) {
  const StreamPlan plan = SquarePlan(100, 25);
  DemandTable table;
  for (int i = 0; i < 15; ++i) table.Learn(plan, CostOf(milliseconds(5), 5));
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 1, 0.05);
}

TEST(DemandTableTest, ADecodedPictureThatIsNotShownCostsToo) {
  const DemandTable table;
  StreamPlan half = SquarePlan(100, 50);
  half.target.fps = Rational{25, 1};
  EXPECT_GT(table.FrameTime(half), table.FrameTime(SquarePlan(100, 50)));
}

// A stream of key pictures for a preview, then the movie at its own rate, and the other way round.
TEST(DemandTableTest, WhatDecodesManyPicturesForOneSaysNothingOfWhatShowsAll) {
  const StreamPlan whole = SquarePlan(100, 25);
  StreamPlan thin = whole;
  thin.target.fps = Rational{1, 1};
  DemandTable table;
  table.Learn(thin, {.making = milliseconds(10), .decoding = milliseconds(75), .frames = 10});
  EXPECT_NEAR(ToMillis(table.FrameTime(thin)), 8.5, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(whole)), 1.3, 1e-3) << "by its pixels";
  table.Learn(whole, CostOf(milliseconds(50), 50));
  EXPECT_NEAR(ToMillis(table.FrameTime(thin)), 8.5, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(whole)), 1, 1e-3);
}

TEST(DemandTableTest, WhoDoesNotDecodeIsPredictedWhatTheRestCosts) {
  const StreamPlan plan = SquarePlan(100, 25), unseen = SquarePlan(200, 25);
  DemandTable table;
  table.Learn(plan, {.making = milliseconds(50), .decoding = milliseconds(100), .frames = 50});
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 3, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(plan, false)), 1, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(unseen, false)), 4, 1e-3) << "and so are others";
  table.Learn(plan, {.making = milliseconds(50), .frames = 50});
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 3, 1e-3) << "nothing said of the decoding";
}

// Of encoders with threads of their own the decoding is not told apart.
TEST(DemandTableTest, WhatIsKnownOfTheDecodingIsNoPartOfTheMaking) {
  const StreamPlan plan = SquarePlan(100, 25), other = SquarePlan(50, 25, 100);
  DemandTable table;
  table.Learn(plan, {.making = milliseconds(50), .decoding = milliseconds(100), .frames = 50});
  for (const double within : {1.0, 0.5, 0.0}) {
    const Duration making = milliseconds(150) + FromSeconds(within * 0.1);
    table.Learn(other, {.making = making, .decoding_within = within, .frames = 50});
    EXPECT_NEAR(ToMillis(table.FrameTime(other, false)), 3, 1e-3) << within;
  }
  EXPECT_NEAR(ToMillis(table.FrameTime(plan)), 3, 1e-3);
}

// Of a ladder one rendition decodes; the others may be asked for alone later.
TEST(DemandTableTest, WhatIsDecodedIsLearnedForAllThatIsMadeOfIt) {
  const StreamPlan decodes = SquarePlan(100, 25), takes = SquarePlan(50, 25, 100);
  DemandTable table;
  table.Learn(takes, {.making = milliseconds(50), .frames = 50});
  table.Learn(decodes, {.making = milliseconds(50), .decoding = milliseconds(100), .frames = 50});
  EXPECT_NEAR(ToMillis(table.FrameTime(takes)), 3, 1e-3);
}

TEST(DemandTableTest, RatesThatHardlyDifferAreOneKind) {
  DemandTable table;
  StreamPlan film = SquarePlan(100, 24);
  film.target.fps = Rational{24'000, 1001};
  table.Learn(film, CostOf(milliseconds(50), 50));
  table.Learn(SquarePlan(100, 24), CostOf(milliseconds(50), 50));
  EXPECT_NEAR(ToMillis(table.FrameTime(SquarePlan(100, 24))), 1, 1e-3);
}

// Each takes longer than all that is done without it.
TEST(DemandTableTest, TextThatIsDrawnAndLightThatIsMappedAreKindsOfTheirOwn) {
  const StreamPlan plain = SquarePlan(100, 25);
  StreamPlan drawn = plain, mapped = plain;
  drawn.texts.script = std::make_shared<const SubtitleScript>();
  auto source = std::make_shared<SourceInfo>(*plain.source);
  auto parameters = test::NewParameters();
  parameters->color_trc = AVCOL_TRC_SMPTE2084;
  source->video.parameters = parameters;
  mapped.source = source;
  DemandTable table;
  const auto cost = [](int making_ms) {
    return UnitCost{.making = milliseconds(making_ms), .decoding = milliseconds(10), .frames = 50};
  };
  table.Learn(plain, cost(40));
  table.Learn(drawn, cost(90));
  table.Learn(mapped, cost(490));
  EXPECT_NEAR(ToMillis(table.FrameTime(plain)), 1, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(drawn)), 2, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(mapped)), 10, 1e-3);
}

TEST(DemandTableTest, KeepsABoundedNumberOfKindsAndThoseThatAreInUse) {
  const StreamPlan busy = SquarePlan(15, 30);
  DemandTable table;
  for (int i = 0; i < 3 * static_cast<int>(kMaxDemandKinds); ++i) {
    table.Learn(SquarePlan(16 + 2 * i, 25), CostOf(milliseconds(50), 50));
    if (i % 100 == 0) table.Learn(busy, CostOf(milliseconds(150), 50));
  }
  EXPECT_LE(table.kinds(), kMaxDemandKinds);
  const int last = 16 + 2 * (3 * static_cast<int>(kMaxDemandKinds) - 1);
  EXPECT_NEAR(ToMillis(table.FrameTime(SquarePlan(last, 25))), 1, 1e-3);
  EXPECT_NEAR(ToMillis(table.FrameTime(busy)), 3, 1e-3);
}

}  // namespace
}  // namespace gopmill
