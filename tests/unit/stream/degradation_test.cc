// SPDX-License-Identifier: Apache-2.0
//
// The ladder of a live stream that the machine does not keep up with, on a made-up clock.
#include "server/stream/degradation.h"

#include <gtest/gtest.h>

#include <string>

namespace gopmill {
namespace {

constexpr std::chrono::milliseconds kUnit{500};

class DegradationTest : public ::testing::Test {
 protected:
  // Units one after the other, each submitted with the effort of that time.
  void Units(int count, bool late) {
    for (int i = 0; i < count; ++i) {
      const TimePoint submitted = now_;
      now_ += kUnit;
      Made(submitted, late, ladder_.effort());
    }
  }
  bool Made(TimePoint submitted, bool late, Effort effort, Duration media = kUnit) {
    const TimePoint due = now_ + std::chrono::milliseconds(late ? -1 : 1);
    return ladder_.OnUnit(
        {.effort = effort, .submitted = submitted, .due = due, .finished = now_, .media = media});
  }
  [[nodiscard]] std::string effort() const { return Name(ladder_.effort()); }

  Degradation ladder_;
  TimePoint now_ = TimePoint{} + std::chrono::hours(1);
};

TEST_F(DegradationTest, OneLateUnitIsNoReason) {
  for (int i = 0; i < 20; ++i) {
    Units(1, true);
    Units(3, false);
  }
  EXPECT_EQ(effort(), "full");
}

TEST_F(DegradationTest, GoesDownStepByStepAndNoFurtherThanTheLast) {
  for (const char* expected : {"faster", "half-rate", "quarter-rate", "quarter-rate"}) {
    Units(3, true);
    EXPECT_EQ(effort(), expected);
  }
}

TEST_F(DegradationTest, LeavesOutAStepThatTheEncoderDoesNotHave) {
  ladder_ = Degradation({.faster = false});
  Units(3, true);
  EXPECT_EQ(effort(), "half-rate");
  Units(20, false);
  EXPECT_EQ(effort(), "full");
}

TEST_F(DegradationTest, HalvesTheSizeLastWhereTheOutputCarriesIt) {
  ladder_ = Degradation({.faster = true, .half_size = true});
  for (const char* expected : {"faster", "half-rate", "quarter-rate", "half-size", "half-size"}) {
    Units(3, true);
    EXPECT_EQ(effort(), expected);
  }
  for (const char* expected : {"quarter-rate", "half-rate", "faster", "full", "full"}) {
    Units(20, false);
    EXPECT_EQ(effort(), expected);
  }
}

// A picture that changes its size again and again is worse than one that stays small.
TEST_F(DegradationTest, ASizeThatIsTooMuchIsTriedLessAndLessOften) {
  ladder_ = Degradation({.faster = true, .half_size = true});
  Units(12, true);
  for (const int patience : {10, 20, 40, 80, 160, 160}) {
    Units(2 * patience - 1, false);
    EXPECT_EQ(effort(), "half-size") << patience;
    Units(1, false);
    EXPECT_EQ(effort(), "quarter-rate") << patience;
    Units(3, true);
    EXPECT_EQ(effort(), "half-size") << patience;
  }
}

TEST_F(DegradationTest, UnitsFromBeforeAStepDoNotCount) {
  Units(3, true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Made(now_ - 5 * kUnit, true, Effort::kFull));
    EXPECT_FALSE(Made(now_ - 5 * kUnit, true, Effort::kFaster)) << "submitted before the step";
  }
  EXPECT_EQ(effort(), "faster");
}

TEST_F(DegradationTest, GoesUpAfterItsPatience) {
  Units(6, true);
  ASSERT_EQ(effort(), "half-rate");
  Units(19, false);
  EXPECT_EQ(effort(), "half-rate");
  Units(1, false);
  EXPECT_EQ(effort(), "faster");
  Units(20, false);
  EXPECT_EQ(effort(), "full");
}

TEST_F(DegradationTest, ALateUnitBeginsThePatienceAnew) {
  Units(3, true);
  Units(15, false);
  Units(1, true);
  Units(19, false);
  EXPECT_EQ(effort(), "faster");
  Units(1, false);
  EXPECT_EQ(effort(), "full");
}

TEST_F(DegradationTest, AStepUpThatFailsIsTriedLessAndLessOften) {
  Units(3, true);
  for (const int patience : {10, 20, 40, 80, 160, 160}) {
    Units(2 * patience - 1, false);
    EXPECT_EQ(effort(), "faster") << patience;
    Units(1, false);
    EXPECT_EQ(effort(), "full") << patience;
    Units(3, true);
    EXPECT_EQ(effort(), "faster") << patience;
  }
}

TEST_F(DegradationTest, AStepUpThatHeldIsForgotten) {
  Units(3, true);
  Units(20, false);
  Units(3, true);  // failed: 20 s from now on
  Units(40, false);
  ASSERT_EQ(effort(), "full");
  Units(400, false);
  Units(3, true);
  Units(20, false);
  EXPECT_EQ(effort(), "full");
}

// A piece of a GOP may wait for another stream's key frame: half a second is judged at a time.
TEST_F(DegradationTest, ShortUnitsAreJudgedTogether) {
  constexpr std::chrono::milliseconds kPiece{50}, kOver{20};
  const auto piece = [&](Duration over) {
    const TimePoint submitted = now_;
    now_ += kPiece;
    return ladder_.OnUnit({.effort = ladder_.effort(),
                           .submitted = submitted,
                           .due = now_ - over,
                           .finished = now_,
                           .media = kPiece});
  };
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(piece(i % 2 == 0 ? kOver : -kOver - kOver));
  int steps = 0;
  for (int i = 0; i < 3 * 9; ++i) steps += piece(i % 3 == 0 ? -kOver : kOver) ? 1 : 0;
  EXPECT_EQ(steps, 1) << "three times half a second";
}

// What has been begun is made to its end as it was begun, or it could not be made again.
TEST_F(DegradationTest, AGopKeepsItsEffort) {
  EXPECT_EQ(ladder_.ForUnit(0, false), Effort::kFull);
  Units(3, true);
  EXPECT_EQ(ladder_.ForUnit(30, false), Effort::kFaster) << "it may begin before the other ends";
  EXPECT_EQ(ladder_.ForUnit(0, false), Effort::kFull);
  EXPECT_EQ(ladder_.ForUnit(0, true), Effort::kFull);
  EXPECT_EQ(ladder_.ForUnit(30, true), Effort::kFaster);
  EXPECT_EQ(ladder_.ForUnit(60, true), Effort::kFaster) << "a whole unit";
}

}  // namespace
}  // namespace gopmill
