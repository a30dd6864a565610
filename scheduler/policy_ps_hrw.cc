// SPDX-License-Identifier: Apache-2.0
//
// ps-hrw: the proportional-share layer of share_policy.h over h-cahrw.
#include "scheduler/policy_registry.h"
#include "scheduler/share_policy.h"

namespace gopmill {

Result<std::unique_ptr<Policy>> MakePsHrw(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("ps-hrw", options.ratios));
  return MakeSharePolicy(StreamCores::Base::kHCahrw, options, pool);
}

}  // namespace gopmill
