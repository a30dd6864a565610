// SPDX-License-Identifier: Apache-2.0
#include "base/spare_files.h"

#include <sys/eventfd.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace gopmill {

bool HasFiles(int count) {
  std::vector<UniqueFd> files;
  files.reserve(static_cast<std::size_t>(count));
  while (static_cast<int>(files.size()) < count) {
    UniqueFd file(eventfd(0, EFD_CLOEXEC));
    if (!file.valid()) return false;
    files.push_back(std::move(file));
  }
  return true;
}

}  // namespace gopmill
