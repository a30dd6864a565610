// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scheduler/topology_hwloc.h"

namespace gopmill::sim {
namespace {

using ::testing::DoubleNear;

// A 100 MHz processor with 5 cycles per reference, as published.
constexpr ReferenceStream kChallenge{.clock_hz = 100e6, .cycles_per_reference = 5};
constexpr CacheGeometry kFirst{.lines = 1024, .line_bytes = 32};
constexpr CacheGeometry kSecond{.lines = 8192, .line_bytes = 128};

TEST(ReloadTransientTest, HasThePublishedValues) {
  EXPECT_THAT(DisplacedShare(kFirst, kChallenge, 1), DoubleNear(0.714, 0.0005));
  EXPECT_THAT(DisplacedShare(kSecond, kChallenge, 1), DoubleNear(0.073, 0.0005));
  EXPECT_THAT(DisplacedShare(kFirst, kChallenge, 100), DoubleNear(1.000, 0.0005));
  EXPECT_THAT(DisplacedShare(kSecond, kChallenge, 100), DoubleNear(0.618, 0.0005));
}

TEST(ReloadTransientTest, GrowsFromNothingToEverything) {
  double last = DisplacedShare(kSecond, kChallenge, 0);
  EXPECT_EQ(last, 0);
  for (double ms = 1e-6; ms < 1e4; ms *= 3) {
    const double share = DisplacedShare(kSecond, kChallenge, ms);
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
  }
  EXPECT_GT(last, 0.99);
}

TEST(ReloadTransientTest, TwoLevelsInterpolateBetweenTheirExtremes) {
  const TwoLevelTimes times{.hot_hot = 57.4, .cold_hot = 80.5, .cold_cold = 232.2};
  EXPECT_DOUBLE_EQ(TwoLevelTime(times, 0, 0.5), 57.4);
  EXPECT_DOUBLE_EQ(TwoLevelTime(times, 1, 0), 80.5);
  EXPECT_DOUBLE_EQ(TwoLevelTime(times, 1, 1), 232.2);
  EXPECT_NEAR(TwoLevelTime(times, 0.714, 0.073),
              57.4 * 0.286 + 0.714 * (80.5 * 0.927 + 232.2 * 0.073), 1e-9);
}

class CostModelTest : public ::testing::Test {
 protected:
  CodecCostModel Make(const CostParams& params) {
    return {params, topology_, CommRatios{.levels = XeonE5335Ratios()}, worker_pus_};
  }
  static RunRequest On(int worker, std::uint64_t context, int last_worker = -1) {
    return {.worker = worker,
            .last_worker = last_worker,
            .context = context,
            .hot_ms = 10,
            .open_ms = 2};
  }
  const Topology topology_ = TopologyFromSynthetic(kXeonE5335Synthetic).value();
  const std::vector<int> worker_pus_ = {0, 1, 2, 3, 4, 5, 6, 7};
};

TEST_F(CostModelTest, TheFirstUnitOpensItsContext) {
  CodecCostModel model = Make({.contexts = 2, .refill_ms = 0});
  EXPECT_DOUBLE_EQ(model.Begin(On(0, 1)).total_ms, 12);
  const RunCost again = model.Begin(On(0, 1));
  EXPECT_DOUBLE_EQ(again.total_ms, 10);
  EXPECT_FALSE(again.cold);
}

TEST_F(CostModelTest, TheLeastRecentlyUsedContextIsClosed) {
  CodecCostModel model = Make({.contexts = 2, .refill_ms = 0});
  model.Begin(On(0, 1));
  model.Begin(On(0, 2));
  model.Begin(On(0, 1));
  EXPECT_TRUE(model.Begin(On(0, 3)).cold);
  EXPECT_TRUE(model.IsWarm(0, 1));
  EXPECT_FALSE(model.IsWarm(0, 2));
  EXPECT_FALSE(model.IsWarm(1, 1));
}

// Else what a worker has kept would cost more than what it has forgotten.
TEST_F(CostModelTest, AColdStartIsNotCheaperThanADisplacedCache) {
  CodecCostModel model = Make({.contexts = 2, .refill_ms = 3});
  RunRequest nothing_to_open = On(0, 1);
  nothing_to_open.open_ms = 0;
  EXPECT_DOUBLE_EQ(model.Begin(nothing_to_open).total_ms, 10 + 3);
  EXPECT_DOUBLE_EQ(Make({.refill_ms = 1}).Begin(On(0, 1)).total_ms, 10 + 2) << "opening is dearer";
}

TEST_F(CostModelTest, WithoutContextsEveryUnitIsCold) {
  CodecCostModel model = Make({.contexts = 0});
  EXPECT_TRUE(model.Begin(On(0, 1)).cold);
  EXPECT_TRUE(model.Begin(On(0, 1)).cold);
}

TEST_F(CostModelTest, AMoveCostsTheRatioOnTheMemoryPart) {
  CodecCostModel model = Make({.contexts = 8, .memory_share = 0.1, .refill_ms = 0});
  for (int worker = 0; worker < 8; ++worker) model.Begin(On(worker, 1));
  EXPECT_DOUBLE_EQ(model.Begin(On(0, 1, 0)).total_ms, 10);
  EXPECT_DOUBLE_EQ(model.Begin(On(1, 1, 0)).total_ms, 10 + (2 - 1));
  EXPECT_DOUBLE_EQ(model.Begin(On(2, 1, 0)).total_ms, 10 + (4 - 1));
  EXPECT_DOUBLE_EQ(model.Begin(On(7, 1, 0)).total_ms, 10 + (12 - 1));
}

TEST_F(CostModelTest, OtherWorkDisplacesACacheBitByBit) {
  CodecCostModel model = Make({.contexts = 8, .refill_ms = 1});
  model.Begin(On(0, 1));
  EXPECT_DOUBLE_EQ(model.Begin(On(0, 1)).total_ms, 10);
  model.Begin(On(0, 2));  // 12 ms of other work
  const double after = model.Begin(On(0, 1)).total_ms;
  EXPECT_NEAR(after, 10 + DisplacedShare({}, {}, 12), 1e-9);
  EXPECT_GT(after, 10.3);
}

TEST_F(CostModelTest, AChangeOfClassCostsTheSwitch) {
  CodecCostModel model = Make({.contexts = 8, .refill_ms = 0, .switch_ms = 5});
  RunRequest request = On(0, 1);
  EXPECT_DOUBLE_EQ(model.Begin(request).total_ms, 12);
  request.service_class = 1;
  EXPECT_DOUBLE_EQ(model.Begin(request).total_ms, 15);
  EXPECT_DOUBLE_EQ(model.Begin(request).total_ms, 10);
}

TEST(CostParamsTest, NonsenseIsRefused) {
  EXPECT_TRUE(ValidateCostParams({}).ok());
  EXPECT_FALSE(ValidateCostParams({.contexts = -1}).ok());
  EXPECT_FALSE(ValidateCostParams({.contexts = 1'000'000}).ok());
  EXPECT_FALSE(ValidateCostParams({.memory_share = std::nan("")}).ok());
  EXPECT_FALSE(ValidateCostParams({.memory_share = 1.5}).ok());
  EXPECT_FALSE(ValidateCostParams({.refill_ms = -1}).ok());
  EXPECT_FALSE(ValidateCostParams({.switch_ms = INFINITY}).ok());
}

}  // namespace
}  // namespace gopmill::sim
