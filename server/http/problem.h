// SPDX-License-Identifier: Apache-2.0
//
// Errors as clients see them: application/problem+json (RFC 9457). The one table from Code to HTTP
// status is in problem.cc.
//
// `type` is "urn:gopmill:problem:<slug>" and stable: programs may branch on it. The text of `title`
// and `detail` may change.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "server/http/http_message.h"

namespace gopmill {

// One refusal. Empty members are left out of the body.
struct Problem {
  int status = 500;
  std::string slug;    // "not-found"
  std::string title;   // the same for every problem of this slug
  std::string detail;  // what was wrong this time
  std::string parameter = {};
  std::string accepted = {};
};

// A problem of the protocol itself, such as 405 or 431. `status` must be one of the statuses in
// problem.cc; its slug and title follow from it.
Problem ProtocolProblem(int status, std::string detail);

// The response; 503 gets Retry-After.
HttpResponse ProblemResponse(const Problem& problem);
// The same for an error of Service: the status follows from its code.
HttpResponse ErrorResponse(const Error& error);

}  // namespace gopmill
