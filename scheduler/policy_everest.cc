// SPDX-License-Identifier: Apache-2.0
//
// everest: a class with j workers asks for one more when q > Qlim_j = j (floor(D / t) - 1): when
// more units wait than its workers can do in time; the rule in full is in everest.h. Not work
// conserving: a class keeps what it may need.
// Source: R. Kokku, "ShaRE: Run-time System for High-performance Virtualized Routers", UT Austin,
// 2005, chapter 3, algorithm 1.
#include "scheduler/everest.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeEverest(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Everest>(Everest::Form::kPlain, pool));
}

}  // namespace gopmill
