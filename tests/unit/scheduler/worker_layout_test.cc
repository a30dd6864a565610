// SPDX-License-Identifier: Apache-2.0
#include "scheduler/worker_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

using testing::Each;
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

// Of 4 cores with 2 PUs each and a worker on each PU.
TEST(InServiceOfTest, TwoOnACoreAreTheFirstToGo) {
  const Topology smt = SyntheticTopology("core:4 pu:2");
  const std::vector<int> all = LayOutWorkers(smt, 8);
  EXPECT_THAT(InServiceOf(smt, all, 8), Each(true));
  EXPECT_THAT(InServiceOf(smt, all, 4096), Each(true));
  EXPECT_THAT(InServiceOf(smt, all, 5),
              ElementsAre(true, true, true, false, true, false, true, false));
  EXPECT_THAT(InServiceOf(smt, all, 1),
              ElementsAre(true, false, false, false, false, false, false, false));
}

TEST(InServiceOfTest, IsAsManyAsAreWantedOfAnyNumber) {
  for (const char* machine : {"core:3 pu:1", "core:4 pu:2", "pack:2 core:3 pu:2"}) {
    const Topology topology = SyntheticTopology(machine);
    for (int started = 1; started <= 20; ++started) {
      const std::vector<int> pus = LayOutWorkers(topology, started);
      for (int wanted = 1; wanted <= 24; ++wanted) {
        SCOPED_TRACE(std::string(machine) + ", " + std::to_string(wanted) + " of " +
                     std::to_string(started));
        EXPECT_EQ(std::ranges::count(InServiceOf(topology, pus, wanted), true),
                  std::min(wanted, started));
      }
    }
  }
}

}  // namespace
}  // namespace gopmill
