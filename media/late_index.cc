// SPDX-License-Identifier: Apache-2.0
#include "media/late_index.h"

#include <algorithm>
#include <array>

#include "media/file_boxes.h"

namespace gopmill {
namespace {

constexpr std::size_t kHeaderBytes = 8, kLongHeaderBytes = 16;

// What may come before the pictures and says nothing of the index.
constexpr std::array kOthers = {Fourcc("ftyp"), Fourcc("free"), Fourcc("skip"),
                                Fourcc("wide"), Fourcc("pnot"), Fourcc("uuid")};

}  // namespace

std::optional<bool> HasLateIndex(std::span<const std::uint8_t> begin) {
  std::size_t before = 0;
  while (begin.size() >= kHeaderBytes) {
    const auto name = static_cast<std::uint32_t>(ReadBigEndian(begin.subspan(4, 4)));
    if (name == Fourcc("mdat")) return true;
    if (std::ranges::find(kOthers, name) == kOthers.end()) return false;
    std::uint64_t size = ReadBigEndian(begin.first(4));
    if (size == 1) {
      if (begin.size() < kLongHeaderBytes) return std::nullopt;
      size = LongBoxSize(begin);
    }
    if (size < kHeaderBytes) return false;  // to the end of the file, or none
    if (size > kMostBeforeIndex - before) return true;
    if (size > begin.size()) return std::nullopt;
    begin = begin.subspan(static_cast<std::size_t>(size));
    before += static_cast<std::size_t>(size);
  }
  return std::nullopt;
}

}  // namespace gopmill
