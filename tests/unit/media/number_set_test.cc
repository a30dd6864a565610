// SPDX-License-Identifier: Apache-2.0
#include "media/number_set.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>

namespace gopmill {
namespace {

TEST(NumberSetTest, FindsTheNeighboursThatASetFinds) {
  std::mt19937 random(3);
  for (const std::size_t limit : {1U, 63U, 64U, 65U, 4096U, 4097U, 270'000U}) {
    NumberSet numbers(limit);
    std::set<std::size_t> plain;
    std::uniform_int_distribution<std::size_t> any(0, limit - 1);
    for (int round = 0; round < 600; ++round) {
      const std::size_t number = any(random), at = any(random);
      if (round % 3 == 0 || round > 400) {  // later ones empty it
        const std::size_t gone = plain.empty() ? number : *plain.begin();
        numbers.Erase(gone);
        plain.erase(gone);
      } else {
        numbers.Insert(number);
        plain.insert(number);
      }
      const auto above = plain.upper_bound(at), from = plain.lower_bound(at);
      ASSERT_EQ(numbers.After(at), above == plain.end() ? std::nullopt : std::optional(*above));
      ASSERT_EQ(numbers.Before(at),
                from == plain.begin() ? std::nullopt : std::optional(*std::prev(from)));
      ASSERT_EQ(numbers.Before(limit),
                plain.empty() ? std::nullopt : std::optional(*plain.rbegin()));
    }
  }
}

TEST(NumberSetTest, OfNoNumbersIsEmpty) {
  const NumberSet none(0);
  EXPECT_FALSE(none.Before(0));
  EXPECT_FALSE(none.After(0));
}

}  // namespace
}  // namespace gopmill
