// SPDX-License-Identifier: Apache-2.0
//
// A pipe through which a body comes in: whoever reads it may wait for more, whoever writes to it
// has other work and never waits. Both ends close at exec.
//
// Thread-safety: safe.
#pragma once

#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

struct Pipe {
  UniqueFd reader, writer;
};

// What its reader does where there is nothing to read.
enum class PipeReader { kWaits, kGoesOn };

// kUnavailable where the process, or the system, has no descriptors left.
Result<Pipe> OpenUploadPipe(PipeReader reader);

}  // namespace gopmill
