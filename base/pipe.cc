// SPDX-License-Identifier: Apache-2.0
#include "base/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace gopmill {

Result<Pipe> OpenUploadPipe(PipeReader reader) {
  std::array<int, 2> ends{};
  const int flags = reader == PipeReader::kGoesOn ? O_CLOEXEC | O_NONBLOCK : O_CLOEXEC;
  if (pipe2(ends.data(), flags) != 0) {
    return Error{.code = Code::kUnavailable,
                 .message = "The server has no room for another upload.",
                 .native = errno};
  }
  Pipe pipe{.reader = UniqueFd(ends[0]), .writer = UniqueFd(ends[1])};
  fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace gopmill
