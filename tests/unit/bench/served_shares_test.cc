// SPDX-License-Identifier: Apache-2.0
#include "server/bench/served_shares.h"

#include <gmock/gmock.h>

#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

ServedUnit Served(std::size_t service_class, double submitted, double started, double finished) {
  return {.service_class = service_class,
          .submitted = test::At(submitted),
          .started = test::At(started),
          .finished = test::At(finished)};
}

TEST(ServedSharesTest, CountsOnlyWhileAllClassesWait) {
  // Class 0 works 0..6 and then waits until 8; class 1 works 6..8. Its last unit begins at 8.
  const ServedShares found = FindShares(
      {Served(0, 0, 0, 6), Served(1, 0, 6, 8), Served(0, 0, 8, 20), Served(1, 0, 20, 30)}, 2);
  EXPECT_NEAR(ToMillis(found.backlogged), 8, 1e-6);
  EXPECT_THAT(found.shares, ElementsAre(DoubleNear(0.75, 1e-9), DoubleNear(0.25, 1e-9)));
}

TEST(ServedSharesTest, NothingIsSharedWithoutBacklog) {
  const ServedShares found = FindShares({Served(0, 0, 0, 5), Served(1, 5, 5, 9)}, 2);
  EXPECT_EQ(found.backlogged.count(), 0);
  EXPECT_THAT(found.shares, ElementsAre(0, 0));
  EXPECT_TRUE(FindShares({}, 0).shares.empty());
}

TEST(ServedSharesTest, UnknownClassesCountAsTheLast) {
  const ServedShares found = FindShares({Served(9, 0, 0, 4), Served(9, 0, 4, 5)}, 1);
  EXPECT_THAT(found.shares, ElementsAre(1));
}

}  // namespace
}  // namespace gopmill::bench
