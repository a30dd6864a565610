// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/means.h"

#include "base/spare_files.h"
#include "base/thread.h"

namespace gopmill {

Status CheckMeans() {
  if (!HasFiles(kSpareFiles)) {
    return Error{.code = Code::kUnavailable, .message = "The server may open no more files."};
  }
  if (!HasThreads(kSpareThreads)) return NoMoreThreads();
  return OkStatus();
}

}  // namespace gopmill
