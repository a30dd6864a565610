// SPDX-License-Identifier: Apache-2.0
//
// Side data of FFmpeg as a source keeps it: the bytes of one of its structures.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace gopmill {

// Nothing if there are too few.
template <class T>
std::optional<T> FromBytes(const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace gopmill
