// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/validation.h"

#include <gtest/gtest.h>

namespace gopmill::sim {
namespace {

void ExpectAllPassed(const Result<std::vector<ValidationRow>>& rows, std::size_t count) {
  ASSERT_TRUE(rows.ok()) << rows.error().ToString();
  EXPECT_EQ(rows->size(), count);
  for (const ValidationRow& row : *rows) {
    EXPECT_TRUE(row.passed()) << row.what << ": " << row.simulated << " instead of "
                              << row.expected;
    EXPECT_LT(row.tolerance, row.expected * 0.15) << row.what;
  }
}

TEST(ClosedFormTest, HasTextbookValues) {
  EXPECT_DOUBLE_EQ(WaitMD1(0.5), 0.5);
  EXPECT_NEAR(WaitMMk(0.5, 1), 1.0, 1e-12);
  EXPECT_NEAR(WaitMMk(0.8, 1), 4.0, 1e-12);
  // Two servers: rho^2 / (1 - rho^2).
  EXPECT_NEAR(WaitMMk(0.8, 2), 0.64 / 0.36, 1e-12);
}

TEST(ValidationTest, ProtocolProcessingIsWithinThreePercentOfThePublishedResults) {
  ExpectAllPassed(ValidateProtocolProcessing(), 6);
}

TEST(ValidationTest, QueuesWaitAsTheorySays) { ExpectAllPassed(ValidateQueueing(), 6); }

TEST(ValidationTest, CarpMultipliersHitTheirShares) {
  for (const ValidationRow& row : ValidateCarp()) EXPECT_TRUE(row.passed()) << row.what;
}

}  // namespace
}  // namespace gopmill::sim
