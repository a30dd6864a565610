// SPDX-License-Identifier: Apache-2.0
#include "media/file_claims.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "media/box_claims.h"
#include "media/file_boxes.h"

namespace gopmill {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

std::uint64_t BytesOf(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// FFmpeg looks into what is free where a header seems to have been renamed.
bool IsPadding(const FileBox& box) {
  if (box.name != Fourcc("free") && box.name != Fourcc("hoov")) {
    return !BoxClaims::Reads(box.name);
  }
  const std::uint64_t inner = ReadBigEndian(std::span(box.begin).subspan(12, 4));
  return inner != Fourcc("mvhd") && inner != Fourcc("cmov");
}

void Look(int fd, const FileBox& box, std::span<std::uint8_t> bytes, const std::stop_token& stop,
          BoxClaims& claims) {
  std::uint64_t done = 0;
  while ((box.size == 0 || done < box.size) && !claims.too_many() && !stop.stop_requested()) {
    const std::uint64_t left = box.size == 0 ? bytes.size() : box.size - done;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
    const ssize_t got = pread(fd, bytes.data(), want, static_cast<off_t>(box.at + done));
    if (got <= 0) break;
    claims.Push(bytes.first(static_cast<std::size_t>(got)));
    done += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

// FFmpeg reads all of them, but fragments behind the first one where an index says where they lie.
bool ListsTooMuch(int fd, const std::stop_token& stop) {
  const std::uint64_t bytes = BytesOf(fd);
  std::vector<std::uint8_t> piece(kPieceBytes);
  FileBoxes boxes(fd);
  BoxClaims claims;
  bool header = false, indexed = false, media = false;
  while (!stop.stop_requested()) {
    const auto box = boxes.Next();
    if (!box) return false;
    header = header || box->name == Fourcc("moov");
    indexed = indexed || (header && box->name == Fourcc("sidx"));  // it knows no tracks before
    media = media || (indexed && box->name == Fourcc("mdat"));
    if (IsPadding(*box) || (media && box->name == Fourcc("moof"))) {
      claims.Skip(std::min(box->size, bytes - std::min(box->at, bytes)));
    } else {
      Look(fd, *box, piece, stop, claims);
    }
    if (claims.too_many()) return true;
  }
  return false;
}

}  // namespace gopmill
