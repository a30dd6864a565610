// SPDX-License-Identifier: Apache-2.0
#include "scheduler/service_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

using ::testing::ElementsAre;

TEST(ServiceClassTest, ReadsNamesWeightsAndLimits) {
  const auto classes = ParseClasses("live:5:0.25:3:40,vod:3,batch:0.5");
  ASSERT_TRUE(classes.ok());
  ASSERT_EQ(classes->size(), 3U);
  EXPECT_EQ(classes->at(0).name, "live");
  EXPECT_EQ(classes->at(0).weight, 5);
  EXPECT_EQ(classes->at(0).guaranteed, 0.25);
  EXPECT_EQ(classes->at(0).max_workers, 3);
  EXPECT_EQ(classes->at(0).deadline, std::chrono::milliseconds(40));
  EXPECT_EQ(classes->at(2).weight, 0.5);
  EXPECT_EQ(classes->at(2).max_workers, 0);
}

TEST(ServiceClassTest, WholeNumbersAreDigitsOfDecimals) {
  EXPECT_EQ(ParseClasses("a:1:0:010").value()[0].max_workers, 10);
}

class BadClassesTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Texts, BadClassesTest,
                         testing::Values("", "live", "live:", ":1", "live:0", "live:-1", "live:nan",
                                         "live:inf", "live:1e-7", "live:1e308", "live:5x",
                                         "live:1:1.5", "live:1:-0.1", "live:1:0:2.5", "live:1:0:-2",
                                         "live:1:0:0:-5", "live:1:0:0:1e99", "live:1:0:0:5:6",
                                         "a:1,a:2", "a:1:0.6,b:1:0.6", "a:1,,b:1", "a:1,",
                                         "a:1:0:0:1e-9", "a:1:0:1e1", "a:1:0:4.0", "a:1:0:0x4",
                                         "a:1:0:-0", "a:1:0: 4", "go+ld:1", "a b:1",
                                         "caf\xc3\xa9:1", "\xff:1", "a\n:1"));

TEST_P(BadClassesTest, AreAnErrorThatSaysWhatWouldBeRight) {
  const auto classes = ParseClasses(GetParam());
  ASSERT_FALSE(classes.ok()) << GetParam();
  const Error& error = ErrorOf(classes);
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.parameter, "classes");
  EXPECT_FALSE(error.message.empty());
  EXPECT_NE(error.accepted.find("NAME:WEIGHT"), std::string::npos);
}

// Of two classes with units, how much the first one gets of the second one's worker time.
double Ratio(const char* classes, std::uint64_t backlogged, std::size_t a, std::size_t b) {
  const ClassWeights weights = EffectiveWeights(ParseClasses(classes).value(), backlogged, 4);
  return weights[a] / weights[b];
}

TEST(EffectiveWeightsTest, AreTheClassesOwnWhereTheyReachTheirGuarantees) {
  const ClassWeights all = EffectiveWeights(ParseClasses("a:5,b:3:0.3,c:1").value(), 0b111, 4);
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 3), ElementsAre(5, 3, 1));
}

TEST(EffectiveWeightsTest, RaiseAClassToItsGuaranteeAmongThoseWithUnits) {
  constexpr const char* kClasses = "a:99,b:1:0.2,c:100";
  EXPECT_DOUBLE_EQ(Ratio(kClasses, 0b011, 1, 0), 0.2 / 0.8);
  EXPECT_DOUBLE_EQ(Ratio(kClasses, 0b111, 1, 0), 0.2 / (0.8 * 99 / 199));
  EXPECT_DOUBLE_EQ(Ratio(kClasses, 0b111, 2, 0), 100.0 / 99);
}

TEST(EffectiveWeightsTest, AreNothingForClassesWithoutUnits) {
  const ClassWeights alone = EffectiveWeights(ParseClasses("a:99,b:1:0.2").value(), 0b10, 4);
  EXPECT_EQ(alone[0], 0);
  EXPECT_GT(alone[1], 0);
}

// Who is at the maximum is held back by it, not by the weight.
TEST(EffectiveWeightsTest, RaiseAClassAmongWhatOthersMayNotHave) {
  constexpr const char* kClasses = "a:8:0:1,b:1:0.5,c:1";
  EXPECT_DOUBLE_EQ(Ratio(kClasses, 0b111, 1, 2), 2) << "of 4 workers a has one, b two and c one";
  EXPECT_GE(Ratio(kClasses, 0b111, 0, 2), 1);
  EXPECT_DOUBLE_EQ(Ratio("a:9:0:1,b:1:0.2,c:1", 0b111, 1, 2), 1) << "b has more than that";
  EXPECT_DOUBLE_EQ(Ratio("a:1:0:3,b:1", 0b11, 0, 1), 1) << "a maximum that is not reached";
}

TEST(GuaranteesTest, AreNotAboveTheMaximum) {
  const auto classes = ParseClasses("a:1:0.5:1,b:1").value();
  EXPECT_TRUE(CheckGuarantees(classes, 2).ok());
  const Status refused = CheckGuarantees(classes, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().parameter, "classes");
  EXPECT_NE(refused.error().message.find("Class a is guaranteed"), std::string::npos);
}

TEST(EffectiveWeightsTest, LeaveSomethingBesideGuaranteesOfEverything) {
  const double ratio = Ratio("a:1:1,b:1", 0b11, 0, 1);
  EXPECT_GE(ratio, 1e5);
  EXPECT_LE(ratio, 1e7);
}

TEST(ServiceClassTest, NoMoreThanSixtyFour) {
  std::string text = "c:1";
  for (int i = 0; i < 64; ++i) text += ",c" + std::to_string(i) + ":1";
  EXPECT_FALSE(ParseClasses(text).ok());
}

}  // namespace
}  // namespace gopmill
