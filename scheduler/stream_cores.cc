// SPDX-License-Identifier: Apache-2.0
#include "scheduler/stream_cores.h"

#include <algorithm>
#include <cmath>

#include "scheduler/policy.h"

namespace gopmill {

StreamCores::StreamCores(Base base, const PolicyOptions& options, const PoolState& pool)
    : base_(base),
      options_(options),
      choice_(options, pool.tree()),
      excluded_(pool.tree()),
      multipliers_(static_cast<std::size_t>(pool.worker_count())),
      capacities_(static_cast<std::size_t>(pool.worker_count())) {}

StreamHome StreamCores::Home(StreamId stream, const PoolState& pool) const {
  return base_ == Base::kHrw ? FlatHome(options_.hash, stream, pool) : choice_.Home(stream, pool);
}

const CoreSet& StreamCores::Of(const Unit& unit, double share, const PoolState& pool) {
  Entry* entry = streams_.Find(unit.spec.unit.stream);
  if (entry == nullptr) entry = &streams_.Add(unit.spec.unit.stream);
  const bool valid = entry->epoch == epoch_ && entry->set.share > 0;
  const bool close = std::abs(share - entry->set.share) <= options_.beta * entry->set.share;
  if (!valid || !close) {
    entry->epoch = epoch_;
    Make(entry->set, unit, share, pool);
  }
  return entry->set;
}

void StreamCores::Make(CoreSet& set, const Unit& unit, double share, const PoolState& pool) {
  set = {.share = share};
  const int whole = static_cast<int>(std::floor(share + 1e-9));
  if (whole >= kMaxStreamCores || whole >= pool.available_workers()) {
    set.everywhere = true;
    return;
  }
  const auto add = [&](WorkerId w) {
    set.workers[static_cast<std::size_t>(set.count++)] = w.value;
    excluded_.Add(pool.tree(), w);
  };
  const bool printed = options_.sets == SetRule::kRepeated;
  const int distinct = printed ? std::min(whole, 1) : whole;
  while (set.count < distinct) {
    const WorkerId w = Next(set, unit, pool);
    if (w.value < 0) break;
    add(w);
  }
  const double rest = share - whole;
  if (rest > 1e-9) {
    const WorkerId w = printed ? ByMultipliers(set, unit, pool) : Next(set, unit, pool);
    // Printed: a worker of the set again, and the rest is lost.
    if (w.value >= 0 && !set.Holds(w)) {
      add(w);
      set.residual = true;
      set.fraction = rest / share;
    }
  }
  for (int i = 0; i < set.count; ++i) {
    excluded_.Remove(pool.tree(), WorkerId{set.workers[static_cast<std::size_t>(i)]});
  }
}

WorkerId StreamCores::Next(const CoreSet& set, const Unit& unit, const PoolState& pool) {
  if (base_ == Base::kHCahrw) return choice_.ChooseOutside(pool.tree(), unit.home, excluded_);
  WorkerId best;
  double best_weight = -1;
  for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
    const WorkerId w{i};
    if (!pool.available(w) || set.Holds(w)) continue;
    const double weight =
        Weight(options_.hash, unit.home.key, pool.candidates()[static_cast<std::size_t>(i)]);
    if (weight <= best_weight) continue;
    best_weight = weight;
    best = w;
  }
  return best;
}

WorkerId StreamCores::ByMultipliers(const CoreSet& set, const Unit& unit, const PoolState& pool) {
  const double rest = set.share - std::floor(set.share + 1e-9);
  const double others = pool.available_workers() - set.count;
  const double total = set.count + others * rest;
  for (std::size_t i = 0; i < capacities_.size(); ++i) {
    const WorkerId w{static_cast<std::int32_t>(i)};
    capacities_[i] = !pool.available(w) ? 0 : (set.Holds(w) ? 1 : rest) / total;
  }
  const auto x = multipliers_.Of(capacities_);
  WorkerId best;
  double best_score = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double score = x[i] * Weight(options_.hash, unit.home.key, pool.candidates()[i]);
    if (score <= best_score) continue;
    best_score = score;
    best = WorkerId{static_cast<std::int32_t>(i)};
  }
  return best;
}

}  // namespace gopmill
