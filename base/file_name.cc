// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.h"

#include <algorithm>

namespace gopmill {

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::string ExtensionOf(std::string_view path) {
  const std::string_view stem = StemOf(path);
  return stem.size() == path.size() ? "" : LowerAscii(path.substr(stem.size() + 1));
}

}  // namespace gopmill
