// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gopmill::sim {
namespace {

using ::testing::HasSubstr;

// The number that a cell starts with.
double Value(const std::vector<ClaimRow>& rows, std::string_view what) {
  for (const ClaimRow& row : rows) {
    if (row.what == what) return std::stod(row.bounded);
  }
  ADD_FAILURE() << "no row " << what;
  return 0;
}

TEST(ReproductionTest, TheTreePolicyBeatsTheStaticOnesOnTheXeon) {
  const auto rows = Reproduce("throughput-e5335");
  ASSERT_TRUE(rows.ok()) << rows.error().ToString();
  EXPECT_GT(Value(*rows, "h-cahrw over rr"), 10);
  EXPECT_GT(Value(*rows, "h-cahrw over hrw"), 10);
  EXPECT_GT(Value(*rows, "h-cahrw over the other five, most"),
            Value(*rows, "h-cahrw over the other five, mean"));
}

TEST(ReproductionTest, TheTreePolicyBeatsConnectionAffinityOnTheNiagara) {
  const auto rows = Reproduce("l7-tree");
  ASSERT_TRUE(rows.ok()) << rows.error().ToString();
  EXPECT_GT(Value(*rows, "h-ahrw over conn"), 20);
  EXPECT_LT(Value(*rows, "h-ahrw, imbalance of threads"), 7);
}

TEST(ReproductionTest, UnknownClaimsAreRefusedWithTheKnownOnes) {
  const auto rows = Reproduce("everything");
  ASSERT_FALSE(rows.ok());
  for (const Claim& claim : Claims()) {
    EXPECT_THAT(rows.error().accepted, HasSubstr(std::string(claim.name)));
  }
}

}  // namespace
}  // namespace gopmill::sim
