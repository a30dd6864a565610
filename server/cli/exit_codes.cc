// SPDX-License-Identifier: Apache-2.0
#include "server/cli/exit_codes.h"

namespace gopmill::cli {

int ExitCodeOf(const Error& error) {
  if (error.parameter == "input") return kBadSource;
  // What another moment or another machine puts right, whatever it is about: a port that is taken.
  if (error.code == Code::kUnavailable || error.code == Code::kIo) return kFailed;
  // Whatever else names a parameter can be put right on the command line.
  if (!error.parameter.empty()) return kUsage;
  switch (error.code) {
    case Code::kInvalidArgument: return kUsage;
    case Code::kNotFound:
    case Code::kUnsupported:
    case Code::kCorrupt: return kBadSource;
    case Code::kCancelled: return kInterrupted;
    case Code::kResourceExhausted:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kAlreadyExists:
    case Code::kIo:
    case Code::kInternal: return kFailed;
  }
  return kFailed;
}

}  // namespace gopmill::cli
