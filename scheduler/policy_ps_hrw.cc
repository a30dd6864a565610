// SPDX-License-Identifier: Apache-2.0
//
// ps-hrw: proportional shares over h-cahrw. A stream gets
//     g_s = r * w_c / (sum of w over backlogged classes) * phi_s / phi_c      workers
// chosen down the topology tree; a free worker serves the class that has had least worker time for
// its weight. share_policy.h has the rule and what differs from its source.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010, PS-HRW.
#include "scheduler/policy_registry.h"
#include "scheduler/share_policy.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakePsHrw(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("ps-hrw", options.ratios));
  return MakeSharePolicy(StreamCores::Base::kHCahrw, options, pool);
}

}  // namespace gopmill
