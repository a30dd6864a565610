// SPDX-License-Identifier: Apache-2.0
#include "server/bench/served_shares.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

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

constexpr double kSecond = 1000;  // At counts milliseconds

// Units of one second each on one worker, by class: "00100" runs classes 0, 0, 1, 0, 0. All were
// submitted at the beginning.
std::vector<ServedUnit> OneAfterTheOther(const std::string& classes) {
  std::vector<ServedUnit> units;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto begin = static_cast<double>(i) * kSecond;
    units.push_back(Served(classes[i] == '1' ? 1 : 0, 0, begin, begin + kSecond));
  }
  return units;
}

TEST(ShareWindowsTest, TheWorstTenSecondsCount) {
  const std::vector<double> due = {0.5, 0.5};
  // Even in every ten seconds.
  const ShareWindows even = FindShareWindows(OneAfterTheOther("010101010101010101010101"), due);
  EXPECT_GT(even.windows, 30U);
  EXPECT_NEAR(even.worst, 0, 1e-9);
  EXPECT_NEAR(even.one_unit, 0.1, 1e-9);
  // Even over all, but not in the middle: one class has 8 of 10 seconds somewhere.
  const ShareWindows uneven = FindShareWindows(OneAfterTheOther("010100000000111111110101"), due);
  EXPECT_NEAR(uneven.worst, 0.4, 1e-9);
}

TEST(ShareWindowsTest, AWindowInWhichAClassHadNothingToDoDoesNotCount) {
  const std::vector<double> due = {0.5, 0.5};
  EXPECT_EQ(FindShareWindows(OneAfterTheOther("010101000000000000000"), due).windows, 0U);
  EXPECT_EQ(FindShareWindows({}, due).windows, 0U);
  EXPECT_EQ(FindShareWindows(OneAfterTheOther("0101"), {}).windows, 0U);
}

}  // namespace
}  // namespace gopmill::bench
