// SPDX-License-Identifier: Apache-2.0
#include "media/file_boxes.h"

#include <unistd.h>

#include <limits>

namespace gopmill {

std::optional<FileBox> FileBoxes::Next() {
  if (!next_) return std::nullopt;
  FileBox box{.at = *next_};
  const ssize_t got = pread(fd_, box.begin.data(), box.begin.size(), static_cast<off_t>(box.at));
  if (got < 8) return std::nullopt;
  box.size = ReadBigEndian(std::span(box.begin).first(4));
  box.name = static_cast<std::uint32_t>(ReadBigEndian(std::span(box.begin).subspan(4, 4)));
  std::uint64_t least = 8;
  const bool whole = got == static_cast<ssize_t>(box.begin.size());
  if (box.size == 1) {  // one that the file ends in goes on behind it
    box.size = whole ? LongBoxSize(box.begin) : std::numeric_limits<std::uint64_t>::max();
    least = 16;
  }
  next_ = box.at + box.size;
  if (box.size < least || *next_ < box.at) next_.reset();
  return box;
}

}  // namespace gopmill
