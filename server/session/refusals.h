// SPDX-License-Identifier: Apache-2.0
//
// What a request is answered that is not taken: a client may come again after both, but only after
// the second will it find the same server.
//
// Thread-safety: safe (pure functions).
#pragma once

#include "base/status.h"

namespace gopmill {

inline Error ShuttingDown() {
  return Error{.code = Code::kUnavailable, .message = "The server is shutting down."};
}

inline Error TooManyWait() {
  return Error{.code = Code::kUnavailable, .message = "Too many requests are waiting."};
}

}  // namespace gopmill
