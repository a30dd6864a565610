// SPDX-License-Identifier: Apache-2.0
//
// How the pictures of a file are coded, wherever it is read: its container may bring other
// parameter sets in mid-stream (coding_header.h). Each coding is one object, however often the file
// comes back to it.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "media/coding_header.h"

namespace gopmill {

// Headers of one file; more are ignored.
inline constexpr std::size_t kMaxFileHeaders = 256, kMaxFileHeaderBytes = std::size_t{4} << 20U;

class PictureCodings {
 public:
  // The file is described so, and begins with this picture.
  void Begin(std::shared_ptr<const SourceInfo> described, const AVPacket* first);
  // It was opened again, and is read from its first picture on.
  void Reopened();
  // This is its first picture: reading goes on at another place, as if from there.
  void Returned(const AVPacket& first);

  // The next picture that is read. A header that came with one which nothing can begin with, or
  // that is left out, goes with the next that something can.
  void Read(const SourceInfo& described, AVPacket& picture);
  // The next picture that is handed out: as now() it is coded.
  void Take(const AVPacket& picture);
  // Null before Begin.
  [[nodiscard]] const std::shared_ptr<const SourceInfo>& now() const { return now_; }

 private:
  using Header = std::vector<std::uint8_t>;
  std::vector<std::shared_ptr<const SourceInfo>> known_;  // as it is described first
  std::size_t known_bytes_ = 0;                           // headers
  std::shared_ptr<const SourceInfo> now_;
  Header first_;    // of the first picture
  Header waiting_;  // of what comes
};

}  // namespace gopmill
