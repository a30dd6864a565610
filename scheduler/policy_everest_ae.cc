// SPDX-License-Identifier: Apache-2.0
//
// everest-ae: everest (Qlim_j = j (floor(D / t) - 1), everest.h) in which any class with q > 0
// takes a free worker and gives it back at once when q = 0: work conserving, and eager to switch.
// Source: R. Kokku, "ShaRE: Run-time System for High-performance Virtualized Routers", UT Austin,
// 2005, chapter 3.
#include "scheduler/everest.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeEverestAe(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Everest>(Everest::Form::kAe, pool));
}

}  // namespace gopmill
