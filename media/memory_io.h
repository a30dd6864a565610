// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg I/O over bytes in memory.
//
// Thread-safety: thread-compatible.
#pragma once

#include <string_view>

#include "media/av_ptr.h"

namespace gopmill {

class MemoryIo {
 public:
  // Borrows the bytes.
  explicit MemoryIo(std::string_view bytes);
  ~MemoryIo();
  MemoryIo(const MemoryIo&) = delete;
  MemoryIo& operator=(const MemoryIo&) = delete;

  [[nodiscard]] AVIOContext* context() { return context_; }

 private:
  static int OnRead(void* self, std::uint8_t* buffer, int size) noexcept;

  std::string_view rest_;
  AVIOContext* context_ = nullptr;  // freed with its buffer, which FFmpeg may have replaced
};

}  // namespace gopmill
