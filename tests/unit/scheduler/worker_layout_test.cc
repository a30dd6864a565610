// SPDX-License-Identifier: Apache-2.0
#include "scheduler/worker_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

using testing::ElementsAre;

TEST(DefaultWorkerCountTest, IsOnePerPuWithinTheQuotaRoundedUp) {
  const Topology eight = SyntheticTopology("core:8 pu:1");
  EXPECT_EQ(DefaultWorkerCount(eight, std::nullopt), 8);
  EXPECT_EQ(DefaultWorkerCount(eight, 100.0), 8);
  EXPECT_EQ(DefaultWorkerCount(eight, 1e300), 8);
  EXPECT_EQ(DefaultWorkerCount(eight, 2.0), 2);
  EXPECT_EQ(DefaultWorkerCount(eight, 2.1), 3);
  EXPECT_EQ(DefaultWorkerCount(eight, 0.01), 1);
}

TEST(LayOutWorkersTest, EveryCoreGetsAWorkerBeforeAnyGetsTwo) {
  const Topology smt = SyntheticTopology("core:4 pu:2");
  EXPECT_THAT(LayOutWorkers(smt, 2), ElementsAre(0, 2));
  EXPECT_THAT(LayOutWorkers(smt, 4), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(LayOutWorkers(smt, 5), ElementsAre(0, 1, 2, 4, 6));
  EXPECT_THAT(LayOutWorkers(smt, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(LayOutWorkersTest, MoreWorkersThanPusShareThem) {
  const Topology two = SyntheticTopology("core:2 pu:1");
  EXPECT_THAT(LayOutWorkers(two, 5), ElementsAre(0, 0, 0, 1, 1));
}

}  // namespace
}  // namespace gopmill
