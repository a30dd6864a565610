// SPDX-License-Identifier: Apache-2.0
#include "server/bench/round_order.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

namespace gopmill::bench {
namespace {

using ::testing::UnorderedElementsAreArray;

std::vector<std::string> Names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("policy " + std::to_string(i));
  return names;
}

// How often each policy runs in each place, and right behind each other one.
struct Counts {
  std::map<std::pair<std::string, std::size_t>, int> places;
  std::map<std::pair<std::string, std::string>, int> neighbours;
};

Counts CountRounds(const std::vector<std::string>& policies, std::uint32_t seed, int first) {
  Counts counts;
  for (int round = 0; round < BalancedRounds(policies.size()); ++round) {
    const auto order = RoundOrder(policies, seed, first + round);
    EXPECT_THAT(order, UnorderedElementsAreArray(policies));
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++counts.places[{order[i], i}];
      if (i > 0) ++counts.neighbours[{order[i - 1], order[i]}];
    }
  }
  return counts;
}

TEST(RoundOrderTest, EachPolicyIsInEachPlaceAndBehindEachOtherEquallyOften) {
  for (const std::size_t n : {1U, 2U, 3U, 4U, 5U, 6U, 11U, 12U, 19U}) {
    const auto policies = Names(n);
    const int times = n > 1 && n % 2 == 1 ? 2 : 1;
    for (const std::uint32_t seed : {0U, 1U, 4'000'000'000U}) {
      for (const int first : {0, BalancedRounds(n)}) {
        const Counts counts = CountRounds(policies, seed, first);
        EXPECT_EQ(counts.places.size(), n * n);
        EXPECT_EQ(counts.neighbours.size(), n * (n - 1));
        for (const auto& [place, count] : counts.places) EXPECT_EQ(count, times) << n;
        for (const auto& [pair, count] : counts.neighbours) EXPECT_EQ(count, times) << n;
      }
    }
  }
}

TEST(RoundOrderTest, FollowsFromTheSeed) {
  const auto policies = Names(6);
  std::set<std::vector<std::string>> orders;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(RoundOrder(policies, seed, 3), RoundOrder(policies, seed, 3));
    orders.insert(RoundOrder(policies, seed, 3));
  }
  EXPECT_GT(orders.size(), 10U);
}

}  // namespace
}  // namespace gopmill::bench
