// SPDX-License-Identifier: Apache-2.0
//
// Where streams belong when nothing is busy: evenly over the leaves of any tree, and stable when
// workers come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "scheduler/tree_choice.h"
#include "scheduler/worker_layout.h"
#include "tests/unit/scheduler/distribution.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

// A machine whose cpuset leaves an uneven number of cores of each package.
Topology UnevenTopology(const std::vector<int>& cores_per_package) {
  std::vector<TopologyPath> paths;
  int cpu = 0;
  for (std::size_t p = 0; p < cores_per_package.size(); ++p) {
    for (int c = 0; c < cores_per_package[p]; ++c, ++cpu) {
      paths.push_back({{{.kind = NodeKind::kPackage, .key = static_cast<int>(p)},
                        {.kind = NodeKind::kCore, .key = cpu},
                        {.kind = NodeKind::kPu, .key = cpu, .os_index = cpu}}});
    }
  }
  return Topology::FromPaths(paths).value();
}

LoadTree TreeOf(const Topology& topology, ChildRule rule = ChildRule::kByWorkers) {
  PolicyOptions options;
  options.children = rule;
  return {topology, LayOutWorkers(topology, topology.pu_count()), options};
}

std::vector<std::uint64_t> CountHomes(const LoadTree& tree, const PolicyOptions& options,
                                      bool sequential, int streams) {
  const TreeChoice choice(options, tree);
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(tree.node(0).size), 0);
  for (int s = 0; s < streams; ++s) {
    const StreamId stream{sequential ? static_cast<std::uint64_t>(s) : random()};
    ++counts[static_cast<std::size_t>(choice.Home(stream, tree).worker.value)];
  }
  return counts;
}

constexpr const char* kEvenTrees[] = {"pack:2 l2:2 core:2 pu:1", "pack:8 l2:2 core:4 pu:1",
                                      "pack:2 l3:12 core:8 pu:1"};

TEST(EvenTreeTest, HomesAreUniformOverTheLeavesJointly) {
  for (const char* description : kEvenTrees) {
    const LoadTree tree = TreeOf(SyntheticTopology(description));
    for (const bool sequential : {true, false}) {
      const auto counts = CountHomes(tree, PolicyOptions{}, sequential, 200'000);
      EXPECT_LT(ChiSquarePerDegree(counts), ChiSquareLimit(counts.size()))
          << description << (sequential ? ", sequential ids" : ", random ids");
    }
  }
}

// Why the printed function is not the default: on real digests and with distinct node ids each
// level looks even, but the levels together are not independent (chi-square/df 2.7 here).
TEST(EvenTreeTest, HomesByThePrintedHashAreNot) {
  PolicyOptions options;
  options.hash = HashKind::kPrinted;
  const LoadTree tree = TreeOf(SyntheticTopology("pack:2 l3:12 core:8 pu:1"));
  const auto counts = CountHomes(tree, options, true, 200'000);
  EXPECT_GT(ChiSquarePerDegree(counts), ChiSquareLimit(counts.size()));
  // Bad, but no worker is forgotten as it is with shared ids.
  EXPECT_EQ(std::ranges::count(counts, 0U), 0);
}

TEST(UnevenTreeTest, EveryWorkerGetsTheSameShare) {
  for (const std::vector<int>& packages : {std::vector{1, 4}, std::vector{2, 3, 8}}) {
    const Topology topology = UnevenTopology(packages);
    const LoadTree tree = TreeOf(topology);
    const auto counts = CountHomes(tree, PolicyOptions{}, true, 200'000);
    EXPECT_LT(ChiSquarePerDegree(counts), ChiSquareLimit(counts.size()));
  }
}

TEST(UnevenTreeTest, PrintedFormGivesTheLoneCoreHalfOfAllStreams) {
  const Topology topology = UnevenTopology({1, 4});
  PolicyOptions options;
  options.children = ChildRule::kEqual;
  const auto counts = CountHomes(TreeOf(topology, ChildRule::kEqual), options, true, 100'000);
  EXPECT_NEAR(static_cast<double>(counts[0]) / 100'000, 0.5, 0.01);
}

struct RemovalCase {
  std::string name;
  std::vector<int> packages;
};

class RemovalTest : public testing::TestWithParam<RemovalCase> {};
INSTANTIATE_TEST_SUITE_P(Trees, RemovalTest,
                         testing::Values(RemovalCase{"OneAndFour", {1, 4}},
                                         RemovalCase{"TwoThreeEight", {2, 3, 8}},
                                         RemovalCase{"Even", {4, 4}}, RemovalCase{"Flat", {7}}),
                         [](const auto& test) { return test.param.name; });

TEST_P(RemovalTest, MovesOnlyTheStreamsOfThatWorkerAndSpreadsThemEvenly) {
  constexpr int kStreams = 100'000;
  const Topology topology = UnevenTopology(GetParam().packages);
  LoadTree tree = TreeOf(topology);
  const TreeChoice choice(PolicyOptions{}, tree);
  const int workers = tree.node(0).size;
  for (int removed = 0; removed < workers; ++removed) {
    std::vector<StreamHome> before;
    for (std::uint64_t s = 0; s < kStreams; ++s) before.push_back(choice.Home(StreamId{s}, tree));
    tree.SetAvailable(WorkerId{removed}, false);
    int moved = 0;
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(workers), 0);
    for (std::uint64_t s = 0; s < kStreams; ++s) {
      const WorkerId after = choice.Home(StreamId{s}, tree).worker;
      ++counts[static_cast<std::size_t>(after.value)];
      if (after == before[s].worker) continue;
      ++moved;
      ASSERT_EQ(before[s].worker.value, removed);
    }
    EXPECT_LE(moved, 1.1 / workers * kStreams);
    counts.erase(counts.begin() + removed);
    EXPECT_LT(ChiSquarePerDegree(counts), ChiSquareLimit(counts.size()));
    // Coming back moves streams only to it, and exactly those that were its own.
    tree.SetAvailable(WorkerId{removed}, true);
    for (std::uint64_t s = 0; s < kStreams; ++s) {
      ASSERT_EQ(choice.Home(StreamId{s}, tree).worker, before[s].worker);
    }
  }
}

TEST(RemovalTest, HomesAreInServiceEvenIfNearlyNobodyIs) {
  const Topology topology = SyntheticTopology("pack:4 core:16 pu:1");
  LoadTree tree = TreeOf(topology);
  const TreeChoice choice(PolicyOptions{}, tree);
  for (int w = 0; w < 63; ++w) tree.SetAvailable(WorkerId{w}, false);
  for (std::uint64_t s = 0; s < 100; ++s) {
    EXPECT_EQ(choice.Home(StreamId{s}, tree).worker, WorkerId{63});
  }
  tree.SetAvailable(WorkerId{63}, false);
  EXPECT_EQ(choice.Home(StreamId{1}, tree).worker, WorkerId{});
}

}  // namespace
}  // namespace gopmill
