// SPDX-License-Identifier: Apache-2.0
#include "base/write_whole.h"

#include <unistd.h>

#include <cerrno>

namespace gopmill {

bool WriteWhole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace gopmill
