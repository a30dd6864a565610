// SPDX-License-Identifier: Apache-2.0
//
// Request parameters as a front end passes them -> a checked TargetRequest. Thread-safety: safe.
#pragma once

#include <string>

#include "base/status.h"
#include "media/target.h"
#include "server/api/service.h"

namespace gopmill {

// The first parameter that is unknown or malformed ends it, as kInvalidArgument.
Result<TargetRequest> ParseParams(const RequestParams& params);

// Makes the request one of this service class, which its user has; empty: any may be asked for.
// kInvalidArgument if it asks for another.
Status UseClass(const std::string& service_class, RequestParams& params);

}  // namespace gopmill
