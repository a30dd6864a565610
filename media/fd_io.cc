// SPDX-License-Identifier: Apache-2.0
#include "media/fd_io.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/contained.h"
#include "base/status.h"

namespace gopmill {
namespace {

constexpr std::size_t kReadBufferBytes = 64 * 1024;
constexpr int kPollMillis = 50;  // how late a stop is noticed while a pipe is silent

}  // namespace

FdIo::FdIo(int fd, std::stop_token stop, std::unique_ptr<ProgramCutter> cutter)
    : fd_(fd), stop_(std::move(stop)), cutter_(std::move(cutter)) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    seekable_ = true;
    size_ = status.st_size;
  }
  auto* buffer = static_cast<unsigned char*>(av_malloc(kReadBufferBytes));
  GOPMILL_CHECK(buffer != nullptr);
  context_ = avio_alloc_context(buffer, static_cast<int>(kReadBufferBytes), 0, this, &FdIo::OnRead,
                                nullptr, seekable_ ? &FdIo::OnSeek : nullptr);
  GOPMILL_CHECK(context_ != nullptr);
  context_->seekable = seekable_ ? AVIO_SEEKABLE_NORMAL : 0;
}

FdIo::~FdIo() {
  av_freep(static_cast<void*>(&context_->buffer));
  avio_context_free(&context_);
}

int FdIo::OnRead(void* self, std::uint8_t* buffer, int size) noexcept {
  const Uncontained ours;
  auto& io = *static_cast<FdIo*>(self);
  if (io.refusal_ != Refusal::kNone) return AVERROR(ENOMEM);
  const std::span<std::uint8_t> room(buffer, static_cast<std::size_t>(size));
  const int got = io.cutter_ ? io.ReadCut(room) : io.ReadSome(room);
  if (got <= 0 || io.Passes(room.first(static_cast<std::size_t>(got)))) return got;
  return AVERROR(ENOMEM);
}

void FdIo::CountPackets(std::span<const std::uint8_t> seen) {
  claims_.emplace();
  Count(seen);
}

void FdIo::Count(std::span<const std::uint8_t> bytes) {
  claims_->Push(bytes);
  if (claims_->too_many()) refusal_ = Refusal::kListsTooMuch;
  if (claims_->astray()) refusal_ = Refusal::kStrayIndex;
  if (claims_->compressed()) refusal_ = Refusal::kCompressedHeader;
}

void FdIo::Opened() {
  opening_waits_.reset();
  if (claims_) claims_->Opened();
}

bool FdIo::TooSlow() const {
  const std::chrono::seconds brought(read_bytes_ / kSlowestOpening);
  return opening_waits_ && waited_ > *opening_waits_ + brought;
}

// Whether FFmpeg may see them.
bool FdIo::Passes(std::span<const std::uint8_t> bytes) {
  if (seekable_) return true;
  read_bytes_ += std::ssize(bytes);
  if (claims_) Count(bytes);
  if (!header_read_ && read_bytes_ > kMaxSourceHeaderBytes) refusal_ = Refusal::kLongHeader;
  return refusal_ == Refusal::kNone;
}

int FdIo::ReadCut(std::span<std::uint8_t> buffer) {
  std::array<std::uint8_t, kReadBufferBytes> bytes;
  int end = 0;  // why there is no more
  while (true) {
    const std::size_t taken = cutter_->Take(buffer);
    if (taken > 0) return static_cast<int>(taken);
    if (cutter_->changed()) return AVERROR_EOF;
    if (end != 0) return end;
    const int got = ReadSome(bytes);
    if (got > 0) {
      cutter_->Push(std::span(bytes).first(static_cast<std::size_t>(got)));
    } else {
      end = got;
      cutter_->End();
    }
  }
}

int FdIo::ReadSome(std::span<std::uint8_t> buffer) {
  if (fd_ < 0) return AVERROR(EBADF);  // which poll() would wait for without end
  while (true) {
    if (stop_.stop_requested()) return AVERROR_EXIT;
    if (!seekable_) {
      pollfd poller{.fd = fd_, .events = POLLIN, .revents = 0};
      const TimePoint begin = SteadyNow();
      const int ready = poll(&poller, 1, kPollMillis);
      waited_ += SteadyNow() - begin;
      if (TooSlow()) {
        refusal_ = Refusal::kTooSlow;
        return AVERROR(ETIMEDOUT);
      }
      if (ready == 0) continue;
    }
    const ssize_t got = read(fd_, buffer.data(), buffer.size());
    if (got > 0) return static_cast<int>(got);
    if (got == 0) {
      ended_ = true;
      return AVERROR_EOF;
    }
    if (errno == EINTR || errno == EAGAIN) continue;
    failed_ = true;
    return AVERROR(errno);
  }
}

void FdIo::Follow(std::vector<int> pids) {
  if (cutter_) cutter_->Follow(std::move(pids));
}

std::unique_ptr<ProgramCutter> FdIo::TakeRest() {
  if (!cutter_ || !cutter_->changed()) return nullptr;
  cutter_->GoOn();
  return std::move(cutter_);
}

std::int64_t FdIo::OnSeek(void* self, std::int64_t offset, int whence) noexcept {
  const Uncontained ours;
  auto& io = *static_cast<FdIo*>(self);
  if ((whence & AVSEEK_SIZE) != 0) return io.size_;
  const off_t position = lseek(io.fd_, offset, whence & ~AVSEEK_FORCE);
  return position < 0 ? AVERROR(errno) : position;
}

}  // namespace gopmill
