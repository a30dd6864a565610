// SPDX-License-Identifier: Apache-2.0
//
// everest: the allocation of everest.h. Not work conserving: a class keeps what it may need.
#include "scheduler/everest.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeEverest(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Everest>(Everest::Form::kPlain, pool));
}

}  // namespace gopmill
