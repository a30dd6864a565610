// SPDX-License-Identifier: Apache-2.0
#include "scheduler/carp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "scheduler/rendezvous.h"

namespace gopmill {
namespace {

// How often each candidate wins  x_j * g_j.
std::vector<double> Fractions(const std::vector<double>& shares, int keys) {
  CarpMultipliers multipliers(shares.size());
  const auto x = multipliers.Of(shares);
  std::vector<Candidate> candidates;
  for (std::uint32_t i = 0; i < shares.size(); ++i) candidates.push_back(Candidate::Of(i));
  std::vector<double> won(shares.size(), 0);
  for (int key = 0; key < keys; ++key) {
    const std::uint64_t digest = StreamKey(StreamId{static_cast<std::uint64_t>(key)});
    std::size_t best = 0;
    double best_score = -1;
    for (std::size_t j = 0; j < shares.size(); ++j) {
      const double score = x[j] * Weight(HashKind::kMixed, digest, candidates[j]);
      if (score > best_score) {
        best_score = score;
        best = j;
      }
    }
    won[best] += 1.0 / keys;
  }
  return won;
}

void ExpectSharesAreHit(const std::vector<double>& shares, int keys) {
  const std::vector<double> won = Fractions(shares, keys);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // Four standard deviations of the sampling.
    const double tolerance = 4 * std::sqrt(shares[i] * (1 - shares[i]) / keys) + 1e-9;
    EXPECT_NEAR(won[i], shares[i], tolerance) << "candidate " << i << " of " << shares.size();
  }
}

TEST(CarpTest, HitsUnequalSharesInAnyOrder) {
  ExpectSharesAreHit({0.1, 0.4, 0.2, 0.25, 0.05}, 200'000);
  ExpectSharesAreHit({0.7, 0.2, 0.1}, 200'000);
  ExpectSharesAreHit({0.999, 0.001}, 200'000);
}

TEST(CarpTest, EqualSharesNeedNoHelp) {
  CarpMultipliers multipliers(4);
  const std::vector<double> quarter(4, 0.25);
  for (const double x : multipliers.Of(quarter)) EXPECT_DOUBLE_EQ(x, 1.0);
}

TEST(CarpTest, AShareOfNothingNeverWins) {
  ExpectSharesAreHit({0, 0.5, 0, 0.5}, 100'000);
  CarpMultipliers multipliers(2);
  const auto x = multipliers.Of(std::vector<double>{0, 1});
  EXPECT_EQ(x[0], 0);
  EXPECT_GT(x[1], 0);
}

TEST(CarpTest, StaysFiniteAndExactForThousandsOfCandidates) {
  std::mt19937 random(5);
  std::vector<double> shares(4096);
  for (double& share : shares) share = 0.2 + static_cast<double>(random() % 1000) / 500.0;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  CarpMultipliers multipliers(shares.size());
  const auto x = multipliers.Of(shares);
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v) && v > 0; }));
  // Tested by classes of candidates: 4,096 single ones would take too many keys.
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return shares[a] < shares[b]; });
  const std::vector<double> won = Fractions(shares, 20'000);
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    double expected = 0;
    double seen = 0;
    for (std::size_t i = quarter * 1024; i < (quarter + 1) * 1024; ++i) {
      expected += shares[order[i]];
      seen += won[order[i]];
    }
    EXPECT_NEAR(seen, expected, 4 * std::sqrt(expected * (1 - expected) / 20'000));
  }
}

}  // namespace
}  // namespace gopmill
