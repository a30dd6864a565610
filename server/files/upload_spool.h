// SPDX-License-Identifier: Apache-2.0
//
// Uploads that can only be read when they are whole: an MP4 whose index comes last. Its body is
// written to a file without a name, which goes when the stream that reads it ends, whatever
// happens. Any other upload is read while it comes and passes by unchanged.
//
// Guarantee: all such files together take at most the given bytes.
//
// Thread-safety: safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

// Bytes a second. Whoever brings less would keep a place of a stream, and the disk, for ever.
inline constexpr std::int64_t kSlowestUpload = std::int64_t{8} << 10U;

class UploadPatience;

class UploadSpool {
 public:
  // In that folder, which is made where it is missing. `max_bytes` 0: none is taken.
  UploadSpool(std::string folder, std::int64_t max_bytes);
  UploadSpool(const UploadSpool&) = delete;
  UploadSpool& operator=(const UploadSpool&) = delete;

  // What one upload takes of the bytes; gives them back when it is destroyed. Not longer than the
  // spool.
  class Share {
   public:
    explicit Share(UploadSpool& spool) : spool_(spool) {}
    ~Share() { spool_.used_ -= bytes_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    friend class UploadSpool;
    UploadSpool& spool_;
    std::int64_t bytes_ = 0;
  };

  // `body` itself, of which nothing has been read, or the file that all of it was written to, at
  // its beginning. Blocks until that can be told or is done. Bytes are waited for `waits`, and a
  // second for each kSlowestUpload that came. kResourceExhausted where there is no room, kIo where
  // nothing can be written, kDeadlineExceeded, kCancelled.
  [[nodiscard]] Result<UniqueFd> Readable(UniqueFd body, Share& share, Duration waits,
                                          const std::stop_token& stop);

  [[nodiscard]] std::int64_t used_bytes() const { return used_; }

 private:
  Result<UniqueFd> MakeFile() const;
  Result<UniqueFd> OpenFile() const;
  Status Copy(int from, int to, Share& share, UploadPatience& patience);
  bool Take(Share& share, std::int64_t bytes);
  [[nodiscard]] Error IsFull() const;

  const std::string folder_;
  const std::int64_t max_bytes_;
  std::atomic<std::int64_t> used_ = 0;
};

}  // namespace gopmill
