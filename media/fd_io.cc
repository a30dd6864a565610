// SPDX-License-Identifier: Apache-2.0
#include "media/fd_io.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/status.h"

namespace gopmill {
namespace {

constexpr int kReadBufferBytes = 64 * 1024;
constexpr int kPollMillis = 50;  // how late a stop is noticed while a pipe is silent

}  // namespace

FdIo::FdIo(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    seekable_ = true;
    size_ = status.st_size;
  }
  auto* buffer = static_cast<unsigned char*>(av_malloc(kReadBufferBytes));
  GOPMILL_CHECK(buffer != nullptr);
  context_ = avio_alloc_context(buffer, kReadBufferBytes, 0, this, &FdIo::OnRead, nullptr,
                                seekable_ ? &FdIo::OnSeek : nullptr);
  GOPMILL_CHECK(context_ != nullptr);
  context_->seekable = seekable_ ? AVIO_SEEKABLE_NORMAL : 0;
}

FdIo::~FdIo() {
  av_freep(static_cast<void*>(&context_->buffer));
  avio_context_free(&context_);
}

int FdIo::OnRead(void* self, std::uint8_t* buffer, int size) noexcept {
  auto& io = *static_cast<FdIo*>(self);
  if (io.fd_ < 0) return AVERROR(EBADF);  // which poll() would wait for without end
  while (true) {
    if (io.stop_.stop_requested()) return AVERROR_EXIT;
    if (!io.seekable_) {
      pollfd poller{.fd = io.fd_, .events = POLLIN, .revents = 0};
      if (poll(&poller, 1, kPollMillis) == 0) continue;
    }
    const ssize_t got = read(io.fd_, buffer, static_cast<std::size_t>(size));
    if (got > 0) return static_cast<int>(got);
    if (got == 0) return AVERROR_EOF;
    if (errno == EINTR || errno == EAGAIN) continue;
    io.failed_ = true;
    return AVERROR(errno);
  }
}

std::int64_t FdIo::OnSeek(void* self, std::int64_t offset, int whence) noexcept {
  auto& io = *static_cast<FdIo*>(self);
  if ((whence & AVSEEK_SIZE) != 0) return io.size_;
  const off_t position = lseek(io.fd_, offset, whence & ~AVSEEK_FORCE);
  return position < 0 ? AVERROR(errno) : position;
}

}  // namespace gopmill
