// SPDX-License-Identifier: Apache-2.0
//
// The file that a recording goes into. No recording is lost: not to a restart with the same command
// line, nor to a second process with the same file.
//
// Thread-safety: safe.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

// Of one file; more are an error (kUnavailable).
inline constexpr int kMaxKeptTraces = 999;

struct TraceFile {
  std::filesystem::path path;  // where links lead
  UniqueFd lock;               // nobody else gets the file while it is open, where there are locks
};

// Empty, and to be appended to. A trace that is there becomes FILE.1, or the next number that is
// free, unless it is nothing but a header: a start that fails behind this leaves no more. What is
// no file of a disk (/dev/null, a pipe) is taken as it is. kUnavailable while another process
// records into it, kInvalidArgument where there can be no such file, kIo if it cannot be kept.
Result<TraceFile> OpenTraceFile(const std::filesystem::path& file);

}  // namespace gopmill
