// SPDX-License-Identifier: Apache-2.0
//
// gps-hrw: the proportional-share layer of share_policy.h over plain hrw, whose sets do not look at
// queues or distances: the baseline of the publication.
#include "scheduler/policy_registry.h"
#include "scheduler/share_policy.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeGpsHrw(const PolicyOptions& options, const PoolState& pool) {
  return MakeSharePolicy(StreamCores::Base::kHrw, options, pool);
}

}  // namespace gopmill
