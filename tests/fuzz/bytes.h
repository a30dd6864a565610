// SPDX-License-Identifier: Apache-2.0
//
// Fuzz input as a row of numbers; behind its end all are zero.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

namespace gopmill::fuzz {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  std::int64_t Number(int bytes) {
    std::int64_t number = 0;
    for (int i = 0; i < bytes; ++i) number = number << 8 | Byte();
    return number;
  }
  std::int64_t Below(std::int64_t limit) { return Number(2) % limit; }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace gopmill::fuzz
