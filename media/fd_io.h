// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg I/O over a descriptor that is already open. Reads give up when `stop` is asked for.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "media/av_ptr.h"

namespace gopmill {

class FdIo {
 public:
  FdIo(int fd, std::stop_token stop);  // borrows fd
  ~FdIo();
  FdIo(const FdIo&) = delete;
  FdIo& operator=(const FdIo&) = delete;

  [[nodiscard]] AVIOContext* context() { return context_; }
  [[nodiscard]] bool seekable() const { return seekable_; }
  [[nodiscard]] std::int64_t size() const { return size_; }  // bytes, 0 = unknown
  [[nodiscard]] bool failed() const { return failed_; }      // a read ended with an error

 private:
  static int OnRead(void* self, std::uint8_t* buffer, int size) noexcept;
  static std::int64_t OnSeek(void* self, std::int64_t offset, int whence) noexcept;

  const int fd_;
  const std::stop_token stop_;
  bool seekable_ = false;
  bool failed_ = false;
  std::int64_t size_ = 0;
  AVIOContext* context_ = nullptr;  // freed with its buffer, which FFmpeg may have replaced
};

}  // namespace gopmill
