// SPDX-License-Identifier: Apache-2.0
//
// Boxes of MP4 for tests (ISO/IEC 14496-12 section 4.2).
#pragma once

#include <cstdint>
#include <string>

namespace gopmill::test {

inline std::string Big(std::uint64_t value, int bytes = 4) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string Box(const std::string& name, const std::string& content) {
  return Big(content.size() + 8) + name + content;
}

}  // namespace gopmill::test
