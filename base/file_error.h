// SPDX-License-Identifier: Apache-2.0
//
// What a call of the system that failed on a file means for the user.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "base/status.h"

namespace gopmill {

// "`doing`: No such file or directory." with `code` = errno. kNotFound, kResourceExhausted for a
// full disk, else kIo.
inline Error FileError(const std::string& doing, int code) {
  Code kind = Code::kIo;
  if (code == ENOENT || code == ENOTDIR) kind = Code::kNotFound;
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) kind = Code::kResourceExhausted;
  return Error{.code = kind, .message = doing + ": " + std::strerror(code) + ".", .native = code};
}

// The same of the file that a command line names as its input.
inline Error InputError(const std::string& doing, int code) {
  Error error = FileError(doing, code);
  error.parameter = "input";
  return error;
}

}  // namespace gopmill
