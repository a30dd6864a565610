// SPDX-License-Identifier: Apache-2.0
//
// The boxes at the top of an MP4 or MOV file, one behind the other (ISO/IEC 14496-12 section 4.2),
// by their headers alone. The file's position stays.
//
// Thread-safety: compatible.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gopmill {

// The letters of a name as a number.
constexpr std::uint32_t Fourcc(std::string_view name) {
  std::uint32_t value = 0;
  for (const char letter : name) value = value << 8U | static_cast<unsigned char>(letter);
  return value;
}

constexpr std::uint64_t ReadBigEndian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8U | byte;
  return value;
}

// Of a header of 16 bytes. FFmpeg takes one that leaves nothing for the rest of that header for "to
// the end", which is 0.
constexpr std::uint64_t LongBoxSize(std::span<const std::uint8_t> header) {
  const std::uint64_t size = ReadBigEndian(header.subspan(8, 8));
  return size == 8 ? 0 : size;
}

struct FileBox {
  std::uint64_t at = 0, size = 0;  // bytes, the header included; 0 = to the end of the file
  std::uint32_t name = 0;
  std::array<std::uint8_t, 16> begin{};  // of it and what follows; zeros behind the file's end
};

class FileBoxes {
 public:
  explicit FileBoxes(int fd) : fd_(fd) {}
  // None at the end of the file, and behind a box that says no size.
  std::optional<FileBox> Next();

 private:
  const int fd_;
  std::optional<std::uint64_t> next_ = 0;
};

}  // namespace gopmill
