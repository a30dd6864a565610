// SPDX-License-Identifier: Apache-2.0
#include "media/memory_io.h"

#include <algorithm>
#include <cstddef>

#include "base/status.h"

namespace gopmill {

MemoryIo::MemoryIo(std::string_view bytes) : rest_(bytes) {
  constexpr std::size_t kBufferBytes = 16 * 1024;
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  GOPMILL_CHECK(buffer != nullptr);
  context_ = avio_alloc_context(buffer, static_cast<int>(kBufferBytes), 0, this, &MemoryIo::OnRead,
                                nullptr, nullptr);
  GOPMILL_CHECK(context_ != nullptr);
}

MemoryIo::~MemoryIo() {
  av_freep(static_cast<void*>(&context_->buffer));
  avio_context_free(&context_);
}

int MemoryIo::OnRead(void* self, std::uint8_t* buffer, int size) noexcept {
  std::string_view& rest = static_cast<MemoryIo*>(self)->rest_;
  if (rest.empty()) return AVERROR_EOF;
  const std::size_t count = std::min(static_cast<std::size_t>(size), rest.size());
  std::ranges::copy(rest.substr(0, count), buffer);
  rest.remove_prefix(count);
  return static_cast<int>(count);
}

}  // namespace gopmill
