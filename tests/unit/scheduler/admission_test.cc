// SPDX-License-Identifier: Apache-2.0
//
// A promise that was made is kept: real-time streams are let in while their class has cores of its
// own for them, whatever the other classes do.
#include "scheduler/admission.h"

#include <gmock/gmock.h>

#include <random>

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StreamNeed RealTime(double cores, std::uint16_t service_class = 0) {
  return {.service_class = service_class, .real_time = true, .cores = cores};
}

std::vector<ServiceClass> Classes(const char* text) { return ParseClasses(text).value(); }

TEST(AssuredSharesTest, AreByWeightButNotBelowTheGuarantee) {
  EXPECT_THAT(
      AssuredShares(Classes("a:5,b:3,c:1"), 4),
      ElementsAre(DoubleNear(5.0 / 9, 1e-9), DoubleNear(3.0 / 9, 1e-9), DoubleNear(1.0 / 9, 1e-9)));
  // c has half for certain; the others share the rest by weight.
  EXPECT_THAT(AssuredShares(Classes("a:3,b:1,c:1:0.5"), 4),
              ElementsAre(DoubleNear(0.375, 1e-9), DoubleNear(0.125, 1e-9), 0.5));
  // A guarantee below the weight's share adds nothing.
  EXPECT_THAT(AssuredShares(Classes("a:1:0.1,b:1"), 4), ElementsAre(0.5, 0.5));
  // Guarantees that push others below theirs.
  EXPECT_THAT(AssuredShares(Classes("a:8,b:1:0.6,c:1:0.08"), 4),
              ElementsAre(DoubleNear(0.32, 1e-9), 0.6, 0.08));
}

TEST(AssuredSharesTest, AreNotAboveTheMaximum) {
  const auto expect = [](const char* classes, double a, double b, double c) {
    EXPECT_THAT(AssuredShares(Classes(classes), 4),
                ElementsAre(DoubleNear(a, 1e-9), DoubleNear(b, 1e-9), DoubleNear(c, 1e-9)))
        << classes;
  };
  expect("a:5:0:1,b:3,c:1", 0.25, 0.5625, 0.1875);
  expect("a:8:0:1,b:1:0.5,c:1", 0.25, 0.5, 0.25);
  // By weight alone b has less than its guarantee; with what a may not have it has more.
  expect("a:9:0:1,b:1:0.2,c:1", 0.25, 0.375, 0.375);
  expect("a:9:0:1,b:1:0.3,c:2", 0.25, 0.3, 0.45);
  // And the other way round: c's guarantee takes so much that a is below its maximum.
  expect("a:2:0:1,b:3,c:1:0.6", 0.16, 0.24, 0.6);
  // Together they must not use all: what is left over is lent.
  expect("a:1:0:1,b:1:0:1,c:1:0:1", 1.0 / 3, 1.0 / 3, 1.0 / 3);
}

TEST(AdmissionTest, LetsInWhatTheClassHasCoresFor) {
  Admission admission(Classes("live:3,batch:1"), 4, 1.0);
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).cores, 3);
  EXPECT_TRUE(admission.Admit(StreamId{1}, RealTime(1.5)).ok());
  EXPECT_TRUE(admission.Admit(StreamId{2}, RealTime(1.4)).ok());
  const Status third = admission.Admit(StreamId{3}, RealTime(0.2));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, Code::kUnavailable);
  EXPECT_THAT(third.error().message, HasSubstr("0.20 cores"));
  EXPECT_THAT(third.error().message, HasSubstr("Class live has 3.00"));
  EXPECT_THAT(third.error().accepted, HasSubstr("at most 0.10 cores"));
  EXPECT_TRUE(admission.Admit(StreamId{4}, RealTime(1.0, 1)).ok()) << "another class has its own";
  admission.Release(StreamId{2});
  EXPECT_TRUE(admission.Admit(StreamId{3}, RealTime(0.2)).ok());
}

TEST(AdmissionTest, PromisesOnlyItsPartOfTheCores) {
  Admission admission({}, 2, 0.9);
  EXPECT_TRUE(admission.Admit(StreamId{1}, RealTime(1.8)).ok());
  EXPECT_FALSE(admission.Admit(StreamId{2}, RealTime(0.01)).ok());
}

TEST(AdmissionTest, AClassHasNoMoreThanItsMaximum) {
  const Admission admission(Classes("live:3:0:1,batch:1"), 4, 1.0);
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).cores, 1);
}

TEST(AdmissionTest, PromisesLessWithFewerWorkersAndTakesNothingBack) {
  Admission admission(Classes("live:3,batch:1"), 4, 1.0);
  ASSERT_TRUE(admission.Admit(StreamId{1}, RealTime(2)).ok());
  admission.SetWorkers(2);
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).cores, 1.5);
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).taken, 2);
  EXPECT_DOUBLE_EQ(admission.FreeFor(0), -0.5);
  EXPECT_FALSE(admission.Admit(StreamId{2}, RealTime(0.1)).ok());
  EXPECT_TRUE(admission.Admit(StreamId{3}, RealTime(0.5, 1)).ok());
  admission.SetWorkers(4);
  EXPECT_TRUE(admission.Admit(StreamId{2}, RealTime(1)).ok());
}

TEST(AdmissionTest, StreamsWithoutAPaceNeedNothing) {
  Admission admission({}, 1, 0.9);
  for (std::uint64_t s = 0; s < 1000; ++s) {
    EXPECT_TRUE(admission.Admit(StreamId{s}, {.cores = 5}).ok());
  }
  EXPECT_EQ(admission.PromiseOf(0).taken, 0);
}

TEST(AdmissionTest, WhatWasMeasuredTakesThePlaceOfThePrediction) {
  Admission admission({}, 2, 1.0);
  ASSERT_TRUE(admission.Admit(StreamId{1}, RealTime(1.9)).ok());
  ASSERT_FALSE(admission.Admit(StreamId{2}, RealTime(1.0)).ok());
  admission.Measured(StreamId{1}, 0.5);
  EXPECT_TRUE(admission.Admit(StreamId{2}, RealTime(1.0)).ok());
  admission.Measured(StreamId{1}, 3);
  EXPECT_LT(admission.FreeFor(0), 0);
  admission.Measured(StreamId{77}, 3);  // never let in
  admission.Release(StreamId{77});
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).taken, 4);
}

// Sums of fractions are not exact, which an idle server need not show.
TEST(AdmissionTest, AClassWithoutStreamsHasGivenNothingAway) {
  Admission admission({}, 2, 1.0);
  for (std::uint64_t s = 1; s <= 3; ++s) {
    ASSERT_TRUE(admission.Admit(StreamId{s}, RealTime(0.1 * static_cast<double>(s))).ok());
  }
  admission.GoOn(StreamId{1}, StreamId{4});
  for (const std::uint64_t s : {3U, 2U, 4U}) admission.Release(StreamId{s});
  EXPECT_EQ(admission.PromiseOf(0).taken, 0.0);
  ASSERT_TRUE(admission.Admit(StreamId{5}, RealTime(0.7)).ok());
  EXPECT_DOUBLE_EQ(admission.PromiseOf(0).taken, 0.7);
}

TEST(AdmissionTest, AClassWithADeadlineRefusesUnitsThatTakeLonger) {
  Admission admission(Classes("live:1:0:0:500"), 2, 0.9);
  const StreamNeed fits{.unit_time = milliseconds(400), .opening = milliseconds(100)};
  EXPECT_TRUE(admission.Admit(StreamId{1}, fits).ok());
  const Status late =
      admission.Admit(StreamId{2}, {.unit_time = milliseconds(400), .opening = milliseconds(101)});
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("within 500 ms"));
  EXPECT_EQ(late.error().parameter, "class");
}

TEST(AdmissionTest, UnknownClassesCountAsTheLast) {
  Admission admission(Classes("a:1,b:1"), 2, 1.0);
  EXPECT_TRUE(admission.Admit(StreamId{1}, RealTime(1, 9)).ok());
  EXPECT_DOUBLE_EQ(admission.PromiseOf(1).taken, 1);
}

TEST(AdmissionTest, NeverPromisesMoreThanThereIs) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Admission admission(Classes("a:5,b:3:0.4,c:1:0:2"), 16, 0.9);
    std::vector<StreamId> running;
    for (std::uint64_t s = 0; s < 500; ++s) {
      const auto service_class = static_cast<std::uint16_t>(random() % 3);
      const double cores = static_cast<double>(random() % 1000) / 500;
      if (admission.Admit(StreamId{s}, RealTime(cores, service_class)).ok()) {
        running.push_back(StreamId{s});
      }
      if (random() % 3 == 0 && !running.empty()) {
        admission.Release(running[random() % running.size()]);
      }
      double all = 0;
      for (std::uint16_t c = 0; c < 3; ++c) {
        EXPECT_LE(admission.PromiseOf(c).taken, 0.9 * admission.PromiseOf(c).cores + 1e-9);
        all += admission.PromiseOf(c).taken;
      }
      EXPECT_LE(all, 0.9 * 16 + 1e-9);
    }
    for (const StreamId stream : running) admission.Release(stream);
    EXPECT_NEAR(admission.PromiseOf(0).taken, 0, 1e-9);
  }
}

}  // namespace
}  // namespace gopmill
