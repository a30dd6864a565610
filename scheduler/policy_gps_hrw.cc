// SPDX-License-Identifier: Apache-2.0
//
// gps-hrw: proportional shares over plain hrw: as many workers for a stream as ps-hrw gives it,
//     g_s = r * w_c / (sum of w over backlogged classes) * phi_s / phi_c,
// but chosen by the hash alone, without a look at queues or distances (share_policy.h).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010, where it is the baseline of PS-HRW.
#include "scheduler/policy_registry.h"
#include "scheduler/share_policy.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakeGpsHrw(const PolicyOptions& options, const PoolState& pool) {
  return MakeSharePolicy(StreamCores::Base::kHrw, options, pool);
}

}  // namespace gopmill
