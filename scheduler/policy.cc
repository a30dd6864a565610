// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy.h"

namespace gopmill {

WorkerId HighestWeight(HashKind hash, std::uint64_t key, const PoolState& pool, WorkerId excluded) {
  WorkerId best;
  double best_weight = -1;
  for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
    const WorkerId w{i};
    if (!pool.available(w) || w == excluded) continue;
    const double weight = Weight(hash, key, pool.candidates()[static_cast<std::size_t>(i)]);
    if (weight > best_weight) {
      best_weight = weight;
      best = w;
    }
  }
  return best;
}

StreamHome FlatHome(HashKind hash, StreamId stream, const PoolState& pool) {
  const std::uint64_t key = StreamKey(stream);
  return {HighestWeight(hash, key, pool, WorkerId{}), key};
}

StreamHome Policy::Home(StreamId stream, const PoolState& pool) {
  return FlatHome(hash_, stream, pool);
}

}  // namespace gopmill
