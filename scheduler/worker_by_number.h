// SPDX-License-Identifier: Apache-2.0
//
// Stream number modulo workers, the map of `sm` and `wired`.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>

#include "scheduler/pool_state.h"

namespace gopmill {

// The next worker in service stands in for one that is not, or that failed the unit; -1 if there is
// none. Reduced first: the number of a rendition's segments is its id, and may be near the end of
// 64 bits.
inline WorkerId WorkerByNumber(const Unit& unit, const PoolState& pool) {
  const auto workers = static_cast<std::uint64_t>(pool.worker_count());
  const std::uint64_t first = unit.spec.stream_number % workers;
  for (std::uint64_t step = 0; step < workers; ++step) {
    const WorkerId w{static_cast<std::int32_t>((first + step) % workers)};
    if (pool.available(w) && w != unit.excluded) return w;
  }
  return {};
}

}  // namespace gopmill
