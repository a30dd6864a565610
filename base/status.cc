// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cstdio>

namespace gopmill {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid-argument";
    case Code::kNotFound: return "not-found";
    case Code::kUnsupported: return "unsupported";
    case Code::kCorrupt: return "corrupt-media";
    case Code::kResourceExhausted: return "resource-exhausted";
    case Code::kUnavailable: return "unavailable";
    case Code::kCancelled: return "cancelled";
    case Code::kAlreadyExists: return "already-exists";
    case Code::kDeadlineExceeded: return "deadline-exceeded";
    case Code::kIo: return "io";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

Error Error::With(std::string_view prefix) const {
  Error copy = *this;
  copy.message = std::string(prefix) + ": " + message;
  return copy;
}

std::string Error::ToString() const {
  std::string text = message;
  if (!parameter.empty() || !accepted.empty()) {
    text += " (";
    if (!parameter.empty()) text += "parameter: " + parameter;
    if (!parameter.empty() && !accepted.empty()) text += "; ";
    if (!accepted.empty()) text += "accepted: " + accepted;
    text += ")";
  }
  return text;
}

Error InvalidArgument(std::string parameter, std::string message, std::string accepted) {
  return Error{.code = Code::kInvalidArgument,
               .message = std::move(message),
               .parameter = std::move(parameter),
               .accepted = std::move(accepted)};
}

Error InternalError(std::string message, int native) {
  return Error{.code = Code::kInternal, .message = std::move(message), .native = native};
}

Error Cancelled() { return Error{.code = Code::kCancelled, .message = "Cancelled."}; }

Error ShuttingDown() {
  return Error{.code = Code::kUnavailable, .message = "The server is shutting down."};
}

namespace internal {
void AbortOnBadAccess(const char* what) {
  std::fprintf(stderr, "gopmill: internal error: %s\n", what);
  std::abort();
}
}  // namespace internal

}  // namespace gopmill
