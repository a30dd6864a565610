// SPDX-License-Identifier: Apache-2.0
//
// What a request is answered that is not taken. A client may come again after this as after
// ShuttingDown() (base/status.h), but only here will it find the same server.
//
// Thread-safety: safe (pure functions).
#pragma once

#include "base/status.h"

namespace gopmill {

inline Error TooManyWait() {
  return Error{.code = Code::kUnavailable, .message = "Too many requests are waiting."};
}

}  // namespace gopmill
