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

// Whether who has this service class may ask for these; empty: for any. kInvalidArgument if they
// name another.
Status CheckClass(const std::string& service_class, const RequestParams& params);
// Makes them name it. Errors as CheckClass.
Status UseClass(const std::string& service_class, RequestParams& params);

}  // namespace gopmill
