// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/scheduler/distribution.h"

namespace gopmill {
namespace {

constexpr int kStreams = 100'000;

// Which of `workers` wins for each of kStreams digests made by `digest`, counted by worker.
template <class Digest>
std::vector<std::uint64_t> WinnersOfPrinted(std::uint32_t workers, Digest digest) {
  std::vector<std::uint64_t> counts(workers, 0);
  for (std::uint32_t s = 0; s < kStreams; ++s) {
    std::uint32_t best = 0;
    for (std::uint32_t w = 1; w < workers; ++w) {
      if (PrintedWeight(digest(s), w) > PrintedWeight(digest(s), best)) best = w;
    }
    ++counts[best];
  }
  return counts;
}

std::size_t Winner(HashKind kind, std::uint64_t key, const std::vector<Candidate>& candidates) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (Weight(kind, key, candidates[i]) > Weight(kind, key, candidates[best])) best = i;
  }
  return best;
}

std::vector<Candidate> Numbered(std::uint32_t count, std::uint32_t first = 0) {
  std::vector<Candidate> candidates;
  for (std::uint32_t i = 0; i < count; ++i) candidates.push_back(Candidate::Of(first + i));
  return candidates;
}

TEST(PrintedWeightTest, FollowsThePublishedFormula) {
  // (A * ((A * 0 + B) ^ 0) + B) mod 2^31, worked out by hand in 64 bits.
  constexpr std::uint64_t kByHand = (1103515245ULL * 12345ULL + 12345ULL) % (1ULL << 31U);
  EXPECT_EQ(PrintedWeight(0, 0), kByHand);
  EXPECT_EQ(PrintedWeight(0x80000000U, 0), kByHand) << "the digest has 31 bits";
}

// Trap 1: numbers used as digests.
TEST(PrintedWeightTest, IsFarFromUniformWhenStreamNumbersAreUsedAsDigests) {
  EXPECT_GT(ChiSquarePerDegree(WinnersOfPrinted(4, [](std::uint32_t s) { return s; })), 20.0);
}

TEST(PrintedWeightTest, IsUniformOnRealDigests) {
  const auto digest = [](std::uint32_t s) {
    return static_cast<std::uint32_t>(StreamKey(StreamId{s}) >> 33U);
  };
  EXPECT_LT(ChiSquarePerDegree(WinnersOfPrinted(4, digest)), ChiSquareLimit(4));
}

// Trap 2: children numbered from 0 again at every level.
TEST(WeightTest, MakesTheSameChoiceAtEveryLevelIfNodesShareIds) {
  for (const HashKind kind : {HashKind::kMixed, HashKind::kPrinted}) {
    std::set<std::array<std::size_t, 3>> leaves;
    for (std::uint64_t s = 0; s < 1000; ++s) {
      const std::size_t choice = Winner(kind, StreamKey(StreamId{s}), Numbered(2));
      leaves.insert({choice, choice, choice});
    }
    EXPECT_EQ(leaves.size(), 2U) << "2 of 8 cores";
  }
}

class WeightKindTest : public testing::TestWithParam<HashKind> {};
INSTANTIATE_TEST_SUITE_P(Hashes, WeightKindTest,
                         testing::Values(HashKind::kMixed, HashKind::kPrinted),
                         [](const auto& test) {
                           return test.param == HashKind::kMixed ? "Mixed" : "Printed";
                         });

TEST_P(WeightKindTest, StaysInsideTheOpenUnitInterval) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kStreams; ++i) {
    const double weight =
        Weight(GetParam(), random(), Candidate::Of(static_cast<std::uint32_t>(random())));
    ASSERT_GT(weight, 0.0);
    ASSERT_LT(weight, 1.0);
  }
}

TEST_P(WeightKindTest, SpreadsSequentialAndRandomStreamsEvenly) {
  std::mt19937_64 random(2);
  for (const std::uint32_t workers : {2U, 4U, 8U, 63U}) {
    for (const bool sequential : {true, false}) {
      std::vector<std::uint64_t> counts(workers, 0);
      for (std::uint64_t s = 0; s < kStreams; ++s) {
        const StreamId stream{sequential ? s : random()};
        ++counts[Winner(GetParam(), StreamKey(stream), Numbered(workers))];
      }
      EXPECT_LT(ChiSquarePerDegree(counts), ChiSquareLimit(workers))
          << workers << " workers, " << (sequential ? "sequential" : "random") << " ids";
    }
  }
}

TEST_P(WeightKindTest, RemovingACandidateMovesOnlyItsStreams) {
  const std::vector<Candidate> all = Numbered(8);
  std::vector<Candidate> fewer = all;
  fewer.erase(fewer.begin() + 3);
  int moved = 0;
  for (std::uint64_t s = 0; s < 20'000; ++s) {
    const std::uint64_t key = StreamKey(StreamId{s});
    const std::uint32_t before = all[Winner(GetParam(), key, all)].id;
    const std::uint32_t after = fewer[Winner(GetParam(), key, fewer)].id;
    if (before == after) continue;
    ++moved;
    EXPECT_EQ(before, 3U);
  }
  EXPECT_NEAR(moved / 20'000.0, 1.0 / 8, 0.1 / 8);
}

TEST_P(WeightKindTest, AddingACandidateMovesStreamsOnlyToIt) {
  const std::vector<Candidate> before = Numbered(8);
  const std::vector<Candidate> after = Numbered(9);
  for (std::uint64_t s = 0; s < 20'000; ++s) {
    const std::uint64_t key = StreamKey(StreamId{s});
    const std::uint32_t old_home = before[Winner(GetParam(), key, before)].id;
    const std::uint32_t new_home = after[Winner(GetParam(), key, after)].id;
    EXPECT_TRUE(new_home == old_home || new_home == 8U);
  }
}

TEST(StreamKeyTest, DrawsAreIndependent) {
  std::vector<std::uint64_t> joint(64, 0);
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    const std::size_t first = Winner(HashKind::kMixed, StreamKey(StreamId{s}, 0), Numbered(8));
    const std::size_t second = Winner(HashKind::kMixed, StreamKey(StreamId{s}, 1), Numbered(8));
    ++joint[first * 8 + second];
  }
  EXPECT_LT(ChiSquarePerDegree(joint), ChiSquareLimit(64));
}

}  // namespace
}  // namespace gopmill
