// SPDX-License-Identifier: Apache-2.0
//
// The fields that every response carries, and what the request's fields change about a finished
// one.
//
// Any web page may read by GET (CORS "*"), so that players on other sites work; no page may DELETE,
// because a preflight is answered without that method.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>

#include "server/http/http_message.h"

namespace gopmill {

// Answers below this many bytes are not worth compressing; above the other one they would hold the
// loop for too long.
inline constexpr std::size_t kMinGzipBytes = 1024;
inline constexpr std::size_t kMaxGzipBytes = 4 * 1024 * 1024;

enum class Persistence { kKeepAlive, kClose };

// Date, Server, CORS, nosniff, and Connection where HTTP/1.0 or closing needs it.
HttpFields CommonFields(const HttpRequest& request, Persistence persistence);

// Compresses the body if the request accepts gzip and it is text worth it.
void CompressIfAccepted(const HttpRequest& request, HttpResponse& response);

}  // namespace gopmill
