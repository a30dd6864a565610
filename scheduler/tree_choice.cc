// SPDX-License-Identifier: Apache-2.0
#include "scheduler/tree_choice.h"

#include <cmath>

#include "scheduler/policy.h"
#include "scheduler/queue_weight.h"

namespace gopmill {
namespace {

// Digests tried for a home before the descent restricts itself to workers in service. With half of
// the workers gone, one stream in 2^32 gets there.
constexpr std::uint32_t kMaxDraws = 32;

double ShareWeight(HashKind hash, std::uint64_t key, const LoadNode& node) {
  const double weight = Weight(hash, key, node.candidate);
  // Equal siblings, nearly always: no need for the power.
  return node.exponent == 1.0 ? weight : std::pow(weight, node.exponent);
}

// The leaf that wins at every level when all queues are empty.
const LoadNode& EmptyDescent(HashKind hash, std::uint64_t key, const LoadTree& tree,
                             bool in_service_only) {
  const LoadNode* node = &tree.node(0);
  while (!node->leaf()) {
    const LoadNode* best = node;
    double best_weight = -1;
    for (const LoadNode& child : tree.children(*node)) {
      if (in_service_only && child.available == 0) continue;
      const double weight = ShareWeight(hash, key, child);
      if (weight > best_weight) {
        best_weight = weight;
        best = &child;
      }
    }
    node = best;
  }
  return *node;
}

}  // namespace

TreeChoice::TreeChoice(const PolicyOptions& options, const LoadTree& tree, Distances distances)
    : options_(options),
      distances_(distances),
      queues_(static_cast<std::size_t>(tree.max_fan_out())) {}

StreamHome TreeChoice::Home(StreamId stream, const PoolState& pool) const {
  return options_.home == HomeRule::kFlat ? FlatHome(options_.hash, stream, pool)
                                          : Home(stream, pool.tree());
}

StreamHome TreeChoice::Home(StreamId stream, const LoadTree& tree) const {
  if (tree.node(0).available == 0) return {};
  std::uint64_t key = 0;
  for (std::uint32_t draw = 0; draw < kMaxDraws; ++draw) {
    key = StreamKey(stream, draw);
    const LoadNode& leaf = EmptyDescent(options_.hash, key, tree, false);
    if (leaf.available > 0) return {WorkerId{leaf.first_worker}, key};
  }
  return {WorkerId{EmptyDescent(options_.hash, key, tree, true).first_worker}, key};
}

// Weighted sums of the nodes on the way from the root to the home, by depth, from the leaf up.
TreeChoice::PathSums TreeChoice::SumHomePath(const LoadTree& tree, WorkerId home) const {
  PathSums sums{};
  const LoadNode* node = &tree.leaf(home);
  double sum = static_cast<double>(node->load);
  sums[static_cast<std::size_t>(node->depth)] = sum;
  while (node->parent >= 0) {
    const LoadNode& parent = tree.node(node->parent);
    sum += Ratio(parent) * static_cast<double>(parent.load - node->load);
    sums[static_cast<std::size_t>(parent.depth)] = sum;
    node = &parent;
  }
  return sums;
}

// c of the workers below `parent` that are off the home path. As long as the home is below `parent`
// too, that is their closest common node; further away c is the same for all children. There it
// cancels out, but for the printed numerator, which has no c that could.
double TreeChoice::RatioOffPath(const LoadTree& tree, const LoadNode& parent, WorkerId home) const {
  if (!parent.Holds(home) && options_.weight == WeightRule::kWeightedMinimum) return 1;
  const LoadNode* common = &parent;
  while (!common->Holds(home)) common = &tree.node(common->parent);
  return Ratio(*common);
}

TreeChoice::Queue TreeChoice::QueueOf(const LoadNode& child, double ratio, const StreamHome& home,
                                      const PathSums& path, Usable usable) const {
  if (usable.available <= 0) return {};
  const bool counts_as_idle =
      options_.parent == ParentRule::kAnyIdle ? usable.idle > 0 : usable.idle == usable.available;
  if (counts_as_idle) return {.weighted = 0, .plain = 0, .usable = true};
  const auto load = static_cast<double>(child.load);
  double weighted = ratio * load;
  if (child.Holds(home.worker)) weighted = path[static_cast<std::size_t>(child.depth)];
  // All that are in service: those that cannot be chosen do their part of the load.
  const double workers = options_.children == ChildRule::kByWorkers ? child.available : 1.0;
  return {.weighted = weighted / workers, .plain = load / workers, .usable = true};
}

template <class CountUsable>
int TreeChoice::BestChild(const LoadTree& tree, const LoadNode& parent, const StreamHome& home,
                          const PathSums& path, CountUsable usable) {
  QueueWeights weights(options_);
  const auto children = tree.children(parent);
  const double ratio = RatioOffPath(tree, parent, home.worker);
  for (std::size_t i = 0; i < children.size(); ++i) {
    queues_[i] = QueueOf(children[i], ratio, home, path,
                         usable(parent.first_child + static_cast<int>(i), children[i]));
    if (queues_[i].usable) weights.See(queues_[i].weighted, queues_[i].plain);
  }
  int best = -1;
  double best_score = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!queues_[i].usable) continue;
    const double weight = weights.Of(queues_[i].weighted);
    if (weight <= 0) continue;
    const double score = weight * ShareWeight(options_.hash, home.key, children[i]);
    if (score > best_score) {
      best_score = score;
      best = parent.first_child + static_cast<int>(i);
    }
  }
  return best;
}

template <class CountUsable>
WorkerId TreeChoice::Descend(const LoadTree& tree, const StreamHome& home, CountUsable usable) {
  if (home.worker.value < 0) return {};
  const PathSums path = SumHomePath(tree, home.worker);
  int index = 0;
  while (!tree.node(index).leaf()) {
    index = BestChild(tree, tree.node(index), home, path, usable);
    if (index < 0) return {};
  }
  const LoadNode& leaf = tree.node(index);
  return usable(index, leaf).available > 0 ? WorkerId{leaf.first_worker} : WorkerId{};
}

WorkerId TreeChoice::Choose(const LoadTree& tree, const StreamHome& home, WorkerId excluded) {
  return Descend(tree, home, [&](int /*index*/, const LoadNode& node) {
    Usable usable{node.available, node.idle};
    if (excluded.value >= 0 && node.Holds(excluded)) [[unlikely]] {
      // A retry: the worker that failed cannot be chosen.
      const LoadNode& failed = tree.leaf(excluded);
      usable.available -= failed.available;
      usable.idle -= failed.idle;
    }
    return usable;
  });
}

WorkerId TreeChoice::ChooseOutside(const LoadTree& tree, const StreamHome& home,
                                   const ExclusionSet& set) {
  return Descend(tree, home, [&](int index, const LoadNode& node) {
    const auto i = static_cast<std::size_t>(index);
    return Usable{node.available - set.available_[i], node.idle - set.idle_[i]};
  });
}

void ExclusionSet::Count(const LoadTree& tree, WorkerId worker, int sign) {
  const LoadNode& leaf = tree.leaf(worker);
  for (int i = tree.leaf_index(worker); i >= 0; i = tree.node(i).parent) {
    available_[static_cast<std::size_t>(i)] += sign * leaf.available;
    idle_[static_cast<std::size_t>(i)] += sign * leaf.idle;
  }
}

}  // namespace gopmill
