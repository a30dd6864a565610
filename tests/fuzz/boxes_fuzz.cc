// SPDX-License-Identifier: Apache-2.0
//
// What is read of an MP4 before FFmpeg may see it: boxes of any bytes. What they are taken for does
// not depend on how they come, and no more boxes are found than there are bytes for.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <stop_token>

#include "base/unique_fd.h"
#include "media/box_claims.h"
#include "media/file_boxes.h"
#include "media/file_claims.h"
#include "media/late_index.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Require;

constexpr std::size_t kHeaderBytes = 8;

struct Verdict {
  bool too_many = false, astray = false, compressed = false;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict InPieces(std::span<const std::uint8_t> bytes, std::size_t piece) {
  BoxClaims claims;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size()))) {
    claims.Push(bytes.first(std::min(piece, bytes.size())));
  }
  claims.End();
  return {claims.too_many(), claims.astray(), claims.compressed()};
}

// Once the beginning of a file tells, more of it tells the same.
void CheckLateIndex(std::span<const std::uint8_t> bytes) {
  std::optional<bool> told;
  const std::size_t most = std::min(bytes.size(), 2 * kMostBeforeIndex);
  for (std::size_t size = 0; size <= most; ++size) {
    const auto now = HasLateIndex(bytes.first(size));
    if (told) Require(now == told);
    told = now;
  }
  Require(told.has_value() || bytes.size() < kMostBeforeIndex + 2 * kHeaderBytes);
}

void CheckBoxes(int fd, std::size_t size) {
  FileBoxes boxes(fd);
  std::uint64_t last = 0;
  for (std::size_t count = 0; const auto box = boxes.Next(); ++count) {
    Require(count <= size / kHeaderBytes);
    Require(box->at < size && (count == 0 || box->at >= last + kHeaderBytes));
    last = box->at;
  }
}

}  // namespace

// The first byte says in which pieces the others come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const Verdict whole = InPieces(bytes, std::max<std::size_t>(1, bytes.size()));
  Require(InPieces(bytes, 1 + data[0]) == whole);
  CheckLateIndex(bytes);
  const UniqueFd file(memfd_create("boxes", MFD_CLOEXEC));
  Require(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  CheckBoxes(file.get(), bytes.size());
  RefusalOfFile(file.get(), std::stop_token());
  return 0;
}
