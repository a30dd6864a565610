// SPDX-License-Identifier: Apache-2.0
//
// Range requests (RFC 9110 section 14) on a response that is there as a whole.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "server/http/http_message.h"

namespace gopmill {

struct ByteRange {
  std::size_t first = 0, last = 0;  // both included
};

enum class RangeKind {
  kNone,  // no range, several, or one that is not well-formed: the whole is the answer
  kOne,
  kUnsatisfiable,
};

// Reads a Range field for a representation of `size` bytes.
RangeKind ParseRange(std::string_view field, std::size_t size, ByteRange& range);

// Cuts a 200 to what the request's Range asks for: 206, or 416 when there is nothing of it.
// If-Range must be the strong `etag`, else the whole is sent.
void ApplyRange(const HttpRequest& request, std::string_view etag, HttpResponse& response);

}  // namespace gopmill
