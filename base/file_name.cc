// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.h"

#include "base/words.h"

namespace gopmill {

std::string ExtensionOf(std::string_view path) {
  const std::string_view stem = StemOf(path);
  return stem.size() == path.size() ? "" : LowerAscii(path.substr(stem.size() + 1));
}

}  // namespace gopmill
