// SPDX-License-Identifier: Apache-2.0
//
// Request parameters as a front end passes them -> a checked TargetRequest. Thread-safety: safe.
#pragma once

#include "base/status.h"
#include "media/target.h"
#include "server/api/service.h"

namespace gopmill {

// The first parameter that is unknown or malformed ends it, as kInvalidArgument.
Result<TargetRequest> ParseParams(const RequestParams& params);

}  // namespace gopmill
