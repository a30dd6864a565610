// SPDX-License-Identifier: Apache-2.0
//
// The scheduling tree and the descent through it, against the definition worked out the slow way.
#include "scheduler/load_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "scheduler/tree_choice.h"
#include "scheduler/worker_layout.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

LoadTree TreeOf(const Topology& topology, int workers, const LevelRatios& ratios,
                PolicyOptions options = {}) {
  options.ratios.levels = ratios;
  return {topology, LayOutWorkers(topology, workers), options};
}

TEST(LoadTreeTest, SkipsLevelsWithoutAChoiceAndPricesTheInnermostPart) {
  // One L3 per package: four cores share it, so its ratio counts, not that of the package.
  const Topology topology = SyntheticTopology(kOpteron2350Synthetic);
  const LoadTree tree = TreeOf(topology, 8, Opteron2350Ratios());
  EXPECT_EQ(tree.node_count(), 1 + 2 + 8);
  EXPECT_EQ(tree.node(0).ratio, 3.0);
  EXPECT_EQ(tree.node(1).ratio, 1.5);
  EXPECT_EQ(tree.node(1).child_count, 4);
  EXPECT_EQ(tree.leaf(WorkerId{0}).depth, 2);
}

TEST(LoadTreeTest, EveryNodeHasAnIdOfItsOwn) {
  const LoadTree tree = TreeOf(SyntheticTopology("pack:2 l2:2 core:2 pu:1"), 8, {});
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < tree.node_count(); ++i) ids.push_back(tree.node(i).candidate.id);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST(LoadTreeTest, WorkersThatShareAPuAreSiblings) {
  const LoadTree tree = TreeOf(SyntheticTopology("pack:1 core:2 pu:1"), 5, {});
  EXPECT_EQ(tree.node(0).child_count, 2);
  EXPECT_EQ(tree.node(1).size, 3);
  EXPECT_EQ(tree.node(1).ratio, LevelRatios{}.pu);
  EXPECT_EQ(tree.node(2).size, 2);
}

TEST(LoadTreeTest, ASingleWorkerIsTheRoot) {
  const LoadTree tree = TreeOf(SyntheticTopology("pack:1 core:2 pu:1"), 1, {});
  EXPECT_EQ(tree.node_count(), 1);
  EXPECT_TRUE(tree.node(0).leaf());
  EXPECT_EQ(tree.leaf_index(WorkerId{0}), 0);
}

TEST(LoadTreeTest, SumsAndCountsFollowEveryChange) {
  LoadTree tree = TreeOf(SyntheticTopology("pack:2 l2:2 core:2 pu:1"), 8, {});
  std::vector<std::uint64_t> loads(8, 0);
  std::vector<bool> available(8, true);
  std::vector<bool> vacant(8, true);
  std::mt19937 random(3);
  for (int step = 0; step < 5000; ++step) {
    const auto w = static_cast<std::size_t>(random() % 8);
    const WorkerId id{static_cast<std::int32_t>(w)};
    if (random() % 4 == 0) {
      available[w] = !available[w];
      tree.SetAvailable(id, available[w]);
    } else {
      loads[w] = random() % 3 == 0 ? 0 : random() % 1000;
      tree.SetLoad(id, loads[w]);
    }
    vacant[w] = available[w] && random() % 2 == 0;
    tree.SetVacant(id, vacant[w]);
    for (int i = 0; i < tree.node_count(); ++i) {
      const LoadNode& node = tree.node(i);
      if (node.leaf()) continue;
      std::uint64_t load = 0;
      int in_service = 0;
      int idle = 0;
      for (auto v = static_cast<std::size_t>(node.first_worker);
           v < static_cast<std::size_t>(node.first_worker + node.size); ++v) {
        if (!available[v]) continue;
        ++in_service;
        load += loads[v];
        idle += loads[v] == 0 ? 1 : 0;
      }
      ASSERT_EQ(node.load, load);
      ASSERT_EQ(node.available, in_service);
      ASSERT_EQ(node.idle, idle);
      const auto first = vacant.begin() + node.first_worker;
      ASSERT_EQ(node.vacant, std::count(first, first + node.size, true));
    }
  }
}

// --- The descent, by the definition: matrix, weighted leaves, sums
// ---------------------------------

class SlowDescent {
 public:
  SlowDescent(const PolicyOptions& options, const LoadTree& tree, const StreamHome& home)
      : options_(options), tree_(tree), home_(home) {}

  WorkerId Choose() const {
    const LoadNode* node = &tree_.node(0);
    while (!node->leaf()) {
      const double smallest = Smallest(*node);
      const LoadNode* best = node;
      double best_score = -1;
      for (const LoadNode& child : tree_.children(*node)) {
        if (child.available == 0) continue;
        const double queue = QueueOf(child, true);
        const double w = queue <= 0 ? 1.0 : smallest / queue;
        const double mean = static_cast<double>(node->size) / node->child_count;
        const double g = std::pow(Weight(HashKind::kMixed, home_.key, child.candidate),
                                  PerWorker() ? mean / child.size : 1);
        if (w * g > best_score) {
          best_score = w * g;
          best = &child;
        }
      }
      node = best;
    }
    return WorkerId{node->first_worker};
  }

 private:
  double Smallest(const LoadNode& parent) const {
    double smallest = 1e300;
    for (const LoadNode& child : tree_.children(parent)) {
      if (child.available == 0) continue;
      const double queue = QueueOf(child, options_.weight == WeightRule::kWeightedMinimum);
      if (options_.minimum == MinimumRule::kNonZero && queue <= 0) continue;
      smallest = std::min(smallest, queue);
    }
    return smallest;
  }
  double Ratio(WorkerId w) const {
    if (w == home_.worker) return 1;
    int common = tree_.leaf_index(w);
    while (!tree_.node(common).Holds(home_.worker)) common = tree_.node(common).parent;
    return tree_.node(common).ratio;
  }
  bool PerWorker() const { return options_.children == ChildRule::kByWorkers; }
  double QueueOf(const LoadNode& node, bool weighted) const {
    double sum = 0;
    for (int w = node.first_worker; w < node.first_worker + node.size; ++w) {
      const LoadNode& leaf = tree_.leaf(WorkerId{w});
      if (leaf.available == 0) continue;
      if (leaf.load == 0 && options_.parent == ParentRule::kAnyIdle) return 0;
      sum += (weighted ? Ratio(WorkerId{w}) : 1) * static_cast<double>(leaf.load);
    }
    return PerWorker() ? sum / node.available : sum;
  }

  const PolicyOptions options_;
  const LoadTree& tree_;
  const StreamHome home_;
};

// Random queues and workers out of service, on even and uneven trees.
void ExpectTheDefinition(const PolicyOptions& options) {
  for (const char* description : {"pack:2 l2:2 core:2 pu:1", "pack:2 l3:3 core:2 pu:2",
                                  "pack:4 core:8 pu:1", "core:7 pu:1"}) {
    const Topology topology = SyntheticTopology(description);
    // One worker less than PUs, so that the tree is uneven.
    LoadTree tree = TreeOf(topology, topology.pu_count() - 1, XeonE5335Ratios(), options);
    TreeChoice choice(options, tree);
    std::mt19937 random(5);
    for (std::uint64_t s = 0; s < 5000; ++s) {
      const WorkerId changed{static_cast<std::int32_t>(random()) & 0x7FFFFFFF};
      const WorkerId w{changed.value % tree.node(0).size};
      tree.SetLoad(w, s % 16 == 0 ? 0 : 1 + random() % 50'000);
      if (s % 64 == 0) tree.SetAvailable(w, tree.leaf(w).available == 0);
      if (tree.node(0).available == 0) continue;
      const StreamHome home = choice.Home(StreamId{s}, tree);
      ASSERT_EQ(choice.Choose(tree, home, WorkerId{}), SlowDescent(options, tree, home).Choose());
    }
  }
}

TEST(TreeChoiceTest, AgreesWithTheDefinition) { ExpectTheDefinition({}); }

// Each printed form beside each other one. Where the numerator is a plain queue and idle children
// compete, c does not cancel out.
TEST(TreeChoiceTest, AgreesWithThePrintedDefinitions) {
  for (const MinimumRule minimum : {MinimumRule::kPlain, MinimumRule::kNonZero}) {
    for (const WeightRule weight : {WeightRule::kWeightedMinimum, WeightRule::kPrintedMinimum}) {
      for (const ChildRule children : {ChildRule::kByWorkers, ChildRule::kEqual}) {
        for (const ParentRule parent : {ParentRule::kAnyIdle, ParentRule::kAllIdle}) {
          ExpectTheDefinition(
              {.minimum = minimum, .weight = weight, .children = children, .parent = parent});
        }
      }
    }
  }
}

TEST(TreeChoiceTest, OneIdleWorkerIsFoundWhereverItIs) {
  LoadTree tree = TreeOf(SyntheticTopology("pack:2 l2:2 core:2 pu:1"), 8, XeonE5335Ratios());
  TreeChoice choice(PolicyOptions{}, tree);
  for (int idle = 0; idle < 8; ++idle) {
    for (int w = 0; w < 8; ++w) tree.SetLoad(WorkerId{w}, w == idle ? 0 : 1);
    for (std::uint64_t s = 0; s < 200; ++s) {
      EXPECT_EQ(choice.Choose(tree, choice.Home(StreamId{s}, tree), WorkerId{}), WorkerId{idle});
    }
  }
}

TEST(TreeChoiceTest, NeverChoosesTheExcludedWorker) {
  LoadTree tree = TreeOf(SyntheticTopology("pack:2 l2:2 core:2 pu:1"), 8, XeonE5335Ratios());
  TreeChoice choice(PolicyOptions{}, tree);
  for (int w = 0; w < 8; ++w) tree.SetLoad(WorkerId{w}, w == 5 ? 0 : 1000);
  for (std::uint64_t s = 0; s < 500; ++s) {
    const WorkerId chosen = choice.Choose(tree, choice.Home(StreamId{s}, tree), WorkerId{5});
    EXPECT_TRUE(chosen.value >= 0 && chosen.value != 5);
  }
  for (int w = 0; w < 8; ++w) tree.SetAvailable(WorkerId{w}, w == 5);
  EXPECT_EQ(choice.Choose(tree, choice.Home(StreamId{1}, tree), WorkerId{5}), WorkerId{});
}

// Nodes alike stay alike when half of one cannot be chosen: its queue is not that of the other
// half.
TEST(TreeChoiceTest, WhoIsExcludedChangesNoQueue) {
  LoadTree tree =
      TreeOf(SyntheticTopology("pack:2 core:2 pu:1"), 4, LevelRatios{1, 1, 1, 1, 1, 1, 1});
  TreeChoice choice(PolicyOptions{}, tree);
  for (int w = 0; w < 4; ++w) tree.SetLoad(WorkerId{w}, 100);
  ExclusionSet set(tree);
  set.Add(tree, WorkerId{0});
  int outside = 0, retried = 0;
  constexpr int kStreams = 10'000;
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    const StreamHome home = choice.Home(StreamId{s}, tree);
    outside += choice.ChooseOutside(tree, home, set).value == 1 ? 1 : 0;
    retried += choice.Choose(tree, home, WorkerId{0}).value == 1 ? 1 : 0;
  }
  EXPECT_NEAR(outside, kStreams / 2, kStreams / 40);
  EXPECT_NEAR(retried, kStreams / 2, kStreams / 40);
}

TEST(TreeChoiceTest, EqualQueuesLeaveMostStreamsNearTheirHomes) {
  LoadTree tree = TreeOf(SyntheticTopology(kXeonE5335Synthetic), 8, XeonE5335Ratios());
  TreeChoice choice(PolicyOptions{}, tree);
  for (int w = 0; w < 8; ++w) tree.SetLoad(WorkerId{w}, 50'000);
  int at_home = 0;
  int other_socket = 0;
  constexpr int kStreams = 10'000;
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    const StreamHome home = choice.Home(StreamId{s}, tree);
    const int chosen = choice.Choose(tree, home, WorkerId{}).value;
    at_home += chosen == home.worker.value ? 1 : 0;
    other_socket += chosen / 4 != home.worker.value / 4 ? 1 : 0;
  }
  EXPECT_GT(at_home, kStreams / 2);
  EXPECT_LT(other_socket, kStreams / 20);
}

}  // namespace
}  // namespace gopmill
