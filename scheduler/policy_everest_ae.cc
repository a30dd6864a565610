// SPDX-License-Identifier: Apache-2.0
//
// everest-ae: the eager, work conserving form of the allocation of everest.h.
#include "scheduler/everest.h"
#include "scheduler/policy_registry.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeEverestAe(const PolicyOptions& options, const PoolState& pool) {
  return MakeClassPolicy(options, std::make_unique<Everest>(Everest::Form::kAe, pool));
}

}  // namespace gopmill
