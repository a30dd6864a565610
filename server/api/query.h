// SPDX-License-Identifier: Apache-2.0
//
// The query of a URL, decoded strictly: of requests by HTTP, and where a setting has one.
//
// Refused with kInvalidArgument: escapes that are not %XX, control characters (also encoded), bytes
// that are not UTF-8, a parameter without a name, given twice, or one too many.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

#include "base/percent_decoding.h"
#include "base/status.h"
#include "server/api/service.h"

namespace gopmill {

// Errors name `parameter`.
Result<std::string> DecodeEscapes(std::string_view raw, Plus plus, const std::string& parameter);

// "a=b&c=d", without a question mark; in the order given.
Result<RequestParams> ParseQuery(std::string_view query);

}  // namespace gopmill
