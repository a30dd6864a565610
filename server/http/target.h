// SPDX-License-Identifier: Apache-2.0
//
// The request target (RFC 9112 section 3.2), decoded once and strictly: what leaves here is safe to
// compare and to hand on as a relative library path (base/library_path.h).
//
// Refused with kInvalidArgument (parameter "path" or the name of the query parameter): escapes that
// are not %XX, any control character (also encoded), backslashes, an encoded slash, empty segments,
// "." and "..", bytes that are not UTF-8, fragments, a query parameter given twice. In the query a
// plus sign means a space, as HTML forms send it.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/api/service.h"

namespace gopmill {

struct RequestTarget {
  std::vector<std::string> segments;  // "/v1/sources" -> {"v1", "sources"}; "/" -> {}
  RequestParams query;                // in the order given
};

// `raw` is in origin form ("/a?b=c") or absolute form ("http://host/a?b=c").
Result<RequestTarget> ParseTarget(std::string_view raw);

}  // namespace gopmill
