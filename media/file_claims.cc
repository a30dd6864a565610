// SPDX-License-Identifier: Apache-2.0
#include "media/file_claims.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// As the last four bytes of a file say, whatever they are.
std::uint64_t MfraBytesOf(int fd, std::uint64_t bytes) {
  std::array<std::uint8_t, 4> last{};
  if (bytes < last.size()) return 0;
  const ssize_t got = pread(fd, last.data(), last.size(), static_cast<off_t>(bytes - last.size()));
  return got == std::ssize(last) ? ReadBigEndian(last) : 0;
}

FdIo::Refusal RefusalOf(const BoxClaims& claims) {
  if (claims.compressed()) return FdIo::Refusal::kCompressedHeader;
  if (claims.astray()) return FdIo::Refusal::kStrayIndex;
  return claims.too_many() ? FdIo::Refusal::kListsTooMuch : FdIo::Refusal::kNone;
}

}  // namespace

// FFmpeg reads all of them, though fragments that an index leads to when they are wanted only.
FdIo::Refusal RefusalOfFile(int fd, const std::stop_token& stop) {
  const std::uint64_t bytes = BytesOf(fd);
  std::vector<std::uint8_t> piece(kPieceBytes);
  FileBoxes boxes(fd);
  BoxClaims claims;
  claims.OfFile(bytes, MfraBytesOf(fd, bytes));
  while (!stop.stop_requested()) {
    const auto box = boxes.Next();
    if (!box) claims.End();
    if (box && IsPadding(*box)) {
      claims.Skip(std::min(box->size, bytes - std::min(box->at, bytes)));
    } else if (box) {
      Look(fd, *box, piece, stop, claims);
    }
    const FdIo::Refusal refusal = RefusalOf(claims);
    if (!box || refusal != FdIo::Refusal::kNone) return refusal;
  }
  return FdIo::Refusal::kNone;
}

}  // namespace gopmill
