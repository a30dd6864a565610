// SPDX-License-Identifier: Apache-2.0
#include "server/bench/round_order.h"

#include <numeric>
#include <random>
#include <utility>

namespace gopmill::bench {
namespace {

// 0 to count - 1. Spelled out: what std::shuffle does with a generator is up to the library.
std::vector<std::size_t> Shuffled(std::size_t count, std::mt19937& random) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  for (std::size_t left = count; left > 1; --left) {
    std::swap(numbers[left - 1], numbers[random() % left]);
  }
  return numbers;
}

// The first row of the design, 0, 1, n-1, 2, n-2, ...: for an even n each distance between
// neighbours, modulo n, is there once; for an odd one so in this row and its mirror image together.
std::size_t FirstRow(std::size_t place, std::size_t n) {
  if (place == 0) return 0;
  return place % 2 == 1 ? (place + 1) / 2 : n - place / 2;
}

}  // namespace

int BalancedRounds(std::size_t policies) {
  return static_cast<int>(policies > 1 && policies % 2 == 1 ? 2 * policies : policies);
}

std::vector<std::string> RoundOrder(const std::vector<std::string>& policies, std::uint32_t seed,
                                    int round) {
  const std::size_t n = policies.size();
  const auto rounds = static_cast<std::size_t>(BalancedRounds(n));
  const std::size_t block = static_cast<std::size_t>(round) / rounds;
  std::seed_seq seeds{seed, static_cast<std::uint32_t>(block)};
  std::mt19937 random(seeds);
  const std::vector<std::size_t> names = Shuffled(n, random);
  const std::size_t row = Shuffled(rounds, random)[static_cast<std::size_t>(round) % rounds];
  std::vector<std::string> order;
  for (std::size_t place = 0; place < n; ++place) {
    const std::size_t at = row < n ? place : n - 1 - place;
    order.push_back(policies[names[(FirstRow(at, n) + row) % n]]);
  }
  return order;
}

}  // namespace gopmill::bench
