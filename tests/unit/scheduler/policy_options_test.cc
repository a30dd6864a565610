// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scheduler/policy_options_text.h"
#include "scheduler/scheduler.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

TEST(PolicyOptionsTextTest, SetsWhatItNamesAndNothingElse) {
  PolicyOptions options;
  ASSERT_TRUE(ParsePolicyOptions("minimum=non-zero,beta=0.3,ratios=e5335", 8, options).ok());
  EXPECT_EQ(options.minimum, MinimumRule::kNonZero);
  EXPECT_EQ(options.beta, 0.3);
  EXPECT_EQ(options.ratios.levels.machine, 12);
  EXPECT_EQ(options.weight, WeightRule::kWeightedMinimum);
  EXPECT_EQ(options.hash, HashKind::kMixed);
}

TEST(PolicyOptionsTextTest, AnEmptyTextChangesNothing) {
  PolicyOptions options;
  EXPECT_TRUE(ParsePolicyOptions("", 8, options).ok());
}

// Each name with its second value (a switch) or another good one.
TEST(PolicyOptionsTextTest, EveryListedOptionCanBeSet) {
  for (const char* text :
       {"hash=printed", "minimum=non-zero", "weight=printed", "running=not-counted",
        "children=equal", "measure=predicted", "parent=all-idle", "node-ids=per-level", "home=flat",
        "share=one-level", "sets=repeated", "beta=0", "contexts=3", "ratios=1/1/2/2/3/4"}) {
    PolicyOptions options;
    EXPECT_TRUE(ParsePolicyOptions(text, 4, options).ok()) << text;
    const std::string name = std::string(text).substr(0, std::string(text).find('='));
    const auto names = PolicyOptionNames();
    EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                            [&](const PolicyOptionName& each) { return each.name == name; }));
  }
  EXPECT_EQ(PolicyOptionNames().size(), 14U) << "a new option belongs into this test";
}

TEST(PolicyOptionsTextTest, AMeshNeedsASquareNumberOfWorkers) {
  PolicyOptions options;
  ASSERT_TRUE(ParsePolicyOptions("ratios=mesh", 9, options).ok());
  ASSERT_EQ(options.ratios.matrix.size(), 81U);
  EXPECT_DOUBLE_EQ(options.ratios.matrix[8], 1.4) << "four hops between opposite corners";
  EXPECT_FALSE(ParsePolicyOptions("ratios=mesh", 8, options).ok());
  EXPECT_FALSE(ParsePolicyOptions("ratios=mesh", 1024, options).ok());
}

TEST(PolicyOptionsTextTest, AMatrixIsRowsThatFitTheWorkers) {
  PolicyOptions options;
  ASSERT_TRUE(ParsePolicyOptions("ratios=1/1.5;1.5/1", 2, options).ok());
  EXPECT_EQ(options.ratios.matrix, (std::vector<double>{1, 1.5, 1.5, 1}));
  EXPECT_TRUE(ValidateRatios(options.ratios, 2).ok());
  EXPECT_FALSE(ValidateRatios(options.ratios, 3).ok());
  ASSERT_TRUE(ParsePolicyOptions("ratios=1/1.5;2/1", 2, options).ok());
  EXPECT_EQ(ValidateRatios(options.ratios, 2).error().message,
            "Row 0, column 1 of the matrix of ratios is wrong.");
}

class BadOptionsTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Texts, BadOptionsTest,
                         testing::Values("minimum", "minimum=", "minimum=smallest", "speed=fast",
                                         "=plain", "beta=nan", "beta=-1", "beta=1e99", "beta=0.1x",
                                         "contexts=0", "contexts=1.5", "contexts=99999",
                                         "contexts=1e1", "contexts=4.0", "contexts=0x4",
                                         "ratios=pentium", "ratios=1/2/3", "ratios=0.5/1/1/1/1/1",
                                         "ratios=1/1/1/1/1/1/1", "ratios=1/nan/1/1/1/1",
                                         "ratios=1/2;x/1", "ratios=1/2;0.5/1", "ratios=;",
                                         "ratios=1/2/2;1", "ratios=1/2;2/1;", "ratios=m.json",
                                         "minimum=plain,,beta=1", "minimum=non-zero,minimum=plain",
                                         "beta=1,hash=mixed,beta=1"));

TEST_P(BadOptionsTest, AreAnErrorThatNamesWhatIsAccepted) {
  PolicyOptions options;
  const Status status = ParsePolicyOptions(GetParam(), 4, options);
  ASSERT_FALSE(status.ok()) << GetParam();
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(status.error().accepted.empty());
}

TEST(SchedulerOptionsTest, TextsReachThePolicyAndWrongOnesAreRefused) {
  const Topology topology = SyntheticTopology("core:2 pu:1");
  const auto create = [&](const char* rules, const char* classes) {
    SchedulerOptions options;
    options.pin = false;
    options.workers = 2;
    options.policy = "ps-hrw";
    options.rules = rules;
    options.classes = classes;
    return Scheduler::Create(options, topology, nullptr);
  };
  const auto made = create("share=one-level", "live:5,vod:1");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->classes().size(), 2U);
  EXPECT_EQ((*made)->ClassOf("vod").value(), 1);
  EXPECT_EQ((*made)->ClassOf("").value(), 0);
  const auto unknown = (*made)->ClassOf("gold");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(ErrorOf(unknown).accepted, "live, vod");
  EXPECT_FALSE(create("share=three-level", "").ok());
  EXPECT_FALSE(create("", "live:0").ok());
}

}  // namespace
}  // namespace gopmill
