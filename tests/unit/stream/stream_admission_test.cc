// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_admission.h"

#include <gmock/gmock.h>

#include "tests/unit/stream/plans.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using test::CostOf;
using test::SquarePlan;
using ::testing::HasSubstr;

// One core; a frame of 100x100 takes 10 ms, so a stream at 25 fps takes a quarter of it.
class StreamAdmissionTest : public testing::Test {
 protected:
  StreamAdmissionTest() { desk.OnUnit(StreamId{99}, plan, CostOf(milliseconds(250), 25)); }
  Status Admit(std::uint64_t stream, bool real_time = true) {
    return desk.Admit(StreamId{stream}, plan, 0, real_time, now);
  }
  StreamAdmission desk{{}, 1, 0.9};
  TimePoint now;
  StreamPlan plan = SquarePlan(100, 25);
};

TEST_F(StreamAdmissionTest, LetsInWhatFitsAndSaysWhatWouldFit) {
  for (std::uint64_t s = 1; s <= 3; ++s) EXPECT_TRUE(Admit(s).ok()) << s;
  const Status fourth = Admit(4);
  ASSERT_FALSE(fourth.ok());
  EXPECT_EQ(fourth.error().code, Code::kUnavailable);
  // 0.15 of 0.25 are free: 77 % of each side, or 60 % of the frames.
  EXPECT_THAT(fourth.error().accepted, HasSubstr("about 76x76 at 25 frames per second"));
  EXPECT_THAT(fourth.error().accepted, HasSubstr("15 frames per second of this size"));
  EXPECT_TRUE(Admit(5, false).ok()) << "who takes what comes is let in";
  EXPECT_EQ(desk.refused(), 1U);
  desk.Release(StreamId{2});
  EXPECT_TRUE(Admit(4).ok());
}

TEST_F(StreamAdmissionTest, AStreamThatTurnsOutCheapMakesRoom) {
  for (std::uint64_t s = 1; s <= 3; ++s) ASSERT_TRUE(Admit(s).ok());
  for (int i = 0; i < 30; ++i) {
    desk.OnUnit(StreamId{1}, plan, CostOf(milliseconds(50), 25));
  }
  EXPECT_NEAR(desk.Stats().at(0).promise.taken, 0.25 + 0.25 + 0.05, 0.01);
  EXPECT_TRUE(Admit(4).ok());
}

// A player that seeks: its next stream is there before the one before has ended.
TEST_F(StreamAdmissionTest, WhoGoesOnForAnotherHasWhatThatHad) {
  for (std::uint64_t s = 1; s <= 3; ++s) ASSERT_TRUE(Admit(s).ok());
  ASSERT_FALSE(Admit(4).ok());
  desk.GoOn(StreamId{2}, StreamId{5});
  desk.OnEffort(StreamId{1}, Effort::kFaster, {});  // which nobody else is let in beside
  EXPECT_TRUE(Admit(5).ok());
  EXPECT_FALSE(Admit(4).ok());
  desk.Release(StreamId{2});
  EXPECT_NEAR(desk.Stats().at(0).promise.taken, 0.75, 1e-9);
  for (int i = 0; i < 30; ++i) desk.OnUnit(StreamId{5}, plan, CostOf(milliseconds(50), 25));
  EXPECT_NEAR(desk.Stats().at(0).promise.taken, 0.55, 0.01);
  desk.GoOn(StreamId{77}, StreamId{78});
  desk.Release(StreamId{5});
  EXPECT_NEAR(desk.Stats().at(0).promise.taken, 0.5, 1e-9) << "nothing for what was not let in";
}

TEST_F(StreamAdmissionTest, WhenNothingIsFreeItSaysSo) {
  for (std::uint64_t s = 1; s <= 3; ++s) ASSERT_TRUE(Admit(s).ok());
  for (int i = 0; i < 30; ++i) desk.OnUnit(StreamId{1}, plan, CostOf(milliseconds(900), 25));
  EXPECT_THAT(Admit(4).error().accepted, HasSubstr("nothing in this class"));
}

// Five have fallen silent; of the four others two are behind.
TEST(StreamAdmissionEffort, TheSilentDoNotHideThatOthersAreBehind) {
  StreamAdmission desk({}, 2, 0.9);
  const StreamPlan plan = SquarePlan(100, 25);
  desk.OnUnit(StreamId{99}, plan, CostOf(milliseconds(1), 25));
  TimePoint now;
  for (std::uint64_t s = 1; s <= 9; ++s) {
    ASSERT_TRUE(desk.Admit(StreamId{s}, plan, 0, true, now).ok());
  }
  for (std::uint64_t s = 1; s <= 5; ++s) desk.OnEffort(StreamId{s}, Effort::kFaster, now);
  now += std::chrono::seconds(3);
  EXPECT_TRUE(desk.Admit(StreamId{9}, plan, 0, true, now).ok());
  for (std::uint64_t s = 6; s <= 7; ++s) desk.OnEffort(StreamId{s}, Effort::kFaster, now);
  EXPECT_FALSE(desk.Admit(StreamId{10}, plan, 0, true, now).ok());
  desk.OnEffort(StreamId{7}, Effort::kFull, now);
  EXPECT_TRUE(desk.Admit(StreamId{10}, plan, 0, true, now).ok());
}

// Of two workers one may have a stream that is too much for it.
TEST(StreamAdmissionEffort, RefusesOnceHalfOfTheStreamsGetLess) {
  StreamAdmission desk({}, 2, 0.9);
  const StreamPlan plan = SquarePlan(100, 25);
  desk.OnUnit(StreamId{99}, plan, CostOf(milliseconds(25), 25));
  const auto admit = [&](std::uint64_t n) { return desk.Admit(StreamId{n}, plan, 0, true, {}); };
  for (std::uint64_t s = 1; s <= 3; ++s) ASSERT_TRUE(admit(s).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, {});
  EXPECT_TRUE(admit(4).ok());
  desk.OnEffort(StreamId{2}, Effort::kFaster, {});
  const Status refused = admit(5);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("does not keep up"));
  EXPECT_EQ(desk.refused(), 1U);
  desk.OnEffort(StreamId{1}, Effort::kFull, {});
  EXPECT_TRUE(admit(5).ok());
}

TEST_F(StreamAdmissionTest, TheOnlyWorkerThatDoesNotKeepUpGetsNoMore) {
  ASSERT_TRUE(Admit(1).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, {});
  EXPECT_FALSE(Admit(2).ok());
  desk.Release(StreamId{1});
  EXPECT_TRUE(Admit(2).ok());
}

// Its next unit takes longer than three of its lengths, and waits for a worker already.
TEST_F(StreamAdmissionTest, OneThatIsFarBehindIsNotSilent) {
  ASSERT_TRUE(Admit(1).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, now, milliseconds(200), true);
  now += std::chrono::seconds(60);
  EXPECT_FALSE(Admit(2).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, now, milliseconds(200), false);
  now += std::chrono::seconds(3);
  EXPECT_TRUE(Admit(2).ok());
}

// A presentation whose publisher has left stays for as long as players may come back to it.
TEST_F(StreamAdmissionTest, OneWithoutUnitsKeepsNobodyOut) {
  ASSERT_TRUE(Admit(1).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, now, milliseconds(200));
  now += milliseconds(1900);
  EXPECT_FALSE(Admit(2).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, now, milliseconds(200));
  now += milliseconds(1900);
  EXPECT_FALSE(Admit(2).ok()) << "it goes on";
  now += milliseconds(200);
  EXPECT_TRUE(Admit(2).ok());
}

TEST_F(StreamAdmissionTest, OneWithLongUnitsIsWaitedForLonger) {
  ASSERT_TRUE(Admit(1).ok());
  desk.OnEffort(StreamId{1}, Effort::kFaster, now, std::chrono::seconds(4));
  now += std::chrono::seconds(11);
  EXPECT_FALSE(Admit(2).ok());
  now += std::chrono::seconds(2);
  EXPECT_TRUE(Admit(2).ok());
}

// Nothing learned: by their pixels renditions of 2000, 1000 and 500 squared take 4, 1 and 0.25, and
// the decoding of the source 1.2.
std::vector<StreamPlan> Renditions() {
  return {SquarePlan(2000, 25, 2000), SquarePlan(1000, 25, 2000), SquarePlan(500, 25, 2000)};
}
StreamAdmission WithRoomFor(double megapixels) {
  return {{}, 100, megapixels * 25e6 * kNanosPerPixel * 1e-9 / 100};
}

TEST(RenditionsAdmission, AreDecodedOnce) {
  StreamAdmission desk = WithRoomFor(6.5);
  const std::vector<StreamPlan> plans = Renditions();
  const auto left_out = desk.LeavesOut(plans, 0, true, {});
  ASSERT_TRUE(left_out.ok()) << left_out.error().ToString();
  EXPECT_EQ(*left_out, 0U);
  for (std::uint64_t i = 0; i < plans.size(); ++i) {
    EXPECT_TRUE(desk.Admit(StreamId{i}, plans[i], 0, true, {}, i == 0).ok()) << i;
  }
  EXPECT_FALSE(desk.Admit(StreamId{9}, plans[2], 0, true, {}).ok()) << "there is room for no other";
}

TEST(RenditionsAdmission, TheLargestAreLeftOutThatDoNotFit) {
  const std::vector<StreamPlan> plans = Renditions();
  EXPECT_EQ(*WithRoomFor(6.4).LeavesOut(plans, 0, false, {}), 1U);
  EXPECT_EQ(*WithRoomFor(2.5).LeavesOut(plans, 0, false, {}), 1U);
  EXPECT_EQ(*WithRoomFor(2.4).LeavesOut(plans, 0, false, {}), 2U);
  EXPECT_FALSE(WithRoomFor(1.4).LeavesOut(plans, 0, false, {}).ok());
}

TEST(RenditionsAdmission, WhoNamesThemHearsWhatAllNeed) {
  StreamAdmission desk = WithRoomFor(4);
  const auto refused = desk.LeavesOut(Renditions(), 0, true, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().parameter, "rungs");
  EXPECT_THAT(refused.error().message, HasSubstr("3 renditions need about 2.42 cores"));
  EXPECT_THAT(refused.error().message, HasSubstr("1.50 are left"));
  EXPECT_EQ(desk.refused(), 1U);
}

// By their pixels a second of the largest takes 1.95 s, of the next one 0.825 s, of the last 0.54
// s.
StreamAdmission WithDeadline(Duration deadline) {
  return {{{.name = "live", .deadline = deadline}}, 100, 1};
}

TEST(RenditionsAdmission, WhatTakesLongerThanTheClassPromisesIsLeftOut) {
  const std::vector<StreamPlan> plans = Renditions();
  EXPECT_EQ(*WithDeadline(milliseconds(2000)).LeavesOut(plans, 0, true, {}), 0U);
  EXPECT_EQ(*WithDeadline(milliseconds(1900)).LeavesOut(plans, 0, false, {}), 1U);
  EXPECT_EQ(*WithDeadline(milliseconds(800)).LeavesOut(plans, 0, false, {}), 2U);
  for (const bool all : {true, false}) {
    const auto refused = WithDeadline(milliseconds(500)).LeavesOut(plans, 0, all, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("promises each unit within 500 ms"));
  }
  EXPECT_FALSE(WithDeadline(milliseconds(1900)).LeavesOut(plans, 0, true, {}).ok());
}

// Units of low delay are handed on in pieces.
TEST(RenditionsAdmission, ADeadlineIsForThePiecesThatUnitsAreMadeIn) {
  std::vector<StreamPlan> plans = Renditions();
  for (StreamPlan& plan : plans) plan.low_delay = true;
  EXPECT_EQ(*WithDeadline(milliseconds(200)).LeavesOut(plans, 0, true, {}), 0U);
}

// Each rendition's own units say what it costs; one of them what the decoding does.
TEST(RenditionsAdmission, TeachWhatTheyCost) {
  StreamAdmission desk = WithRoomFor(2);
  const std::vector<StreamPlan> plans = Renditions();
  ASSERT_EQ(*desk.LeavesOut(plans, 0, false, {}), 2U);
  for (std::size_t i = 0; i < plans.size(); ++i) {  // a quarter of what their pixels say
    const double making = plans[i].target.width * plans[i].target.width * kNanosPerPixel / 4e9;
    UnitCost cost{.making = FromSeconds(25 * making), .frames = 25};
    if (i == 0) cost.decoding = milliseconds(110);
    desk.OnUnit(StreamId{99}, plans[i], cost);
  }
  EXPECT_EQ(*desk.LeavesOut(plans, 0, false, {}), 0U);
}

TEST_F(StreamAdmissionTest, WithoutAPromiseEverybodyIsLetIn) {
  StreamAdmission open({}, 1, 0);
  for (std::uint64_t s = 1; s <= 100; ++s) {
    EXPECT_TRUE(open.Admit(StreamId{s}, SquarePlan(4000, 60), 0, true, {}).ok());
  }
}

}  // namespace
}  // namespace gopmill
