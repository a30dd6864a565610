// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/sim/experiment.h"

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
  Experiment experiment;
  experiment.topology = "niagara-2";
  experiment.workload = "l7";
  experiment.mix = "tu";
  experiment.workers = 63;
  experiment.streams = 2000;
  experiment.load = 1.5;
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok()) << prepared.error().ToString();
  const auto throughput = [&](const char* policy) {
    prepared->params.policy = policy;
    const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
    EXPECT_TRUE(result.ok());
    return result.ok() ? result->gops_per_second : 0;
  };
  EXPECT_GT(throughput("h-ahrw"), 1.2 * throughput("conn"));
  EXPECT_GT(throughput("h-ahrw"), 1.1 * throughput("hrw"));
}

// Of packets; the GOPs of twenty streams are too uneven for it.
TEST(ReproductionTest, ConnectionAffinityGainsOnPacketsAndScales) {
  const auto throughput = [](const char* policy, int workers) {
    Experiment experiment;
    experiment.topology = "e5355";
    experiment.workload = "l7";
    experiment.mix = "mit";
    experiment.workers = workers;
    experiment.streams = 8000;
    experiment.load = 1.5;
    auto prepared = Prepare(experiment).value();
    prepared.params.policy = policy;
    return Simulate(prepared.params, prepared.machine, prepared.workload).value().gops_per_second;
  };
  EXPECT_GT(throughput("conn", 7), 1.05 * throughput("fifo", 7));
  EXPECT_NEAR(throughput("conn", 7) / throughput("conn", 1), 6.5, 0.5);
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
