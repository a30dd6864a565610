// SPDX-License-Identifier: Apache-2.0
#include "server/session/upload_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "media/late_index.h"

namespace gopmill {
namespace {

constexpr std::size_t kSpoolPieceBytes = 64 * 1024;
constexpr int kStopMillis = 50;  // how late a stop is noticed while nothing comes
constexpr std::chrono::milliseconds kPeekAgain{20};

Error CannotSpool(int error) {
  if (error == ENOSPC || error == EDQUOT) {
    return {.code = Code::kResourceExhausted,
            .message = "The disk has no room for an MP4 whose index (moov) comes last.",
            .accepted = "an MP4 with its index in front (faststart) or in fragments",
            .native = error};
  }
  return {.code = Code::kIo,
          .message = "An MP4 whose index (moov) comes last cannot be kept until it is whole.",
          .native = error};
}

struct Pipe {
  UniqueFd reader, writer;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return CannotSpool(errno);
  return Pipe{.reader = UniqueFd(ends[0]), .writer = UniqueFd(ends[1])};
}

// Copies what waits in a pipe and leaves it there; nothing where it is no pipe.
std::optional<std::span<const std::uint8_t>> Peek(int body, const Pipe& copy,
                                                  std::span<std::uint8_t> room) {
  const ssize_t waits = tee(body, copy.writer.get(), room.size(), SPLICE_F_NONBLOCK);
  if (waits < 0 && errno != EAGAIN && errno != EINTR) return std::nullopt;
  std::size_t got = 0;
  while (std::cmp_less(got, waits)) {
    const auto rest = room.subspan(got);
    const ssize_t count = read(copy.reader.get(), rest.data(), rest.size());
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  return room.first(got);
}

// Whether the body has to be had whole. Waits for as many bytes as tell it; a client that sends
// none is the matter of who reads the connection.
Result<bool> IsLate(int body, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(const Pipe copy, MakePipe());
  std::array<std::uint8_t, kSpoolPieceBytes> room;
  std::size_t before = 0;
  while (!stop.stop_requested()) {
    pollfd poller{.fd = body, .events = POLLIN, .revents = 0};
    if (poll(&poller, 1, kStopMillis) == 0) continue;
    const auto begin = Peek(body, copy, room);
    if (!begin || begin->size() == room.size())
      return begin && HasLateIndex(*begin).value_or(false);
    if (const auto late = HasLateIndex(*begin)) return *late;
    if ((poller.revents & POLLHUP) != 0) return false;  // that is all
    if (begin->size() == before) std::this_thread::sleep_for(kPeekAgain);
    before = begin->size();
  }
  return Cancelled();
}

Status WriteWhole(int to, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(to, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return CannotSpool(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return OkStatus();
}

}  // namespace

UploadSpool::UploadSpool(std::string folder, std::int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(folder_.empty() ? 0 : max_bytes) {}

Result<UniqueFd> UploadSpool::Readable(UniqueFd body, Share& share, const std::stop_token& stop) {
  if (max_bytes_ == 0) return body;
  GOPMILL_ASSIGN_OR_RETURN(const bool late, IsLate(body.get(), stop));
  if (!late) return body;
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd file, MakeFile());
  GOPMILL_RETURN_IF_ERROR(Copy(body.get(), file.get(), share, stop));
  if (lseek(file.get(), 0, SEEK_SET) != 0) return CannotSpool(errno);
  return file;
}

Result<UniqueFd> UploadSpool::MakeFile() const {
  std::error_code code;
  std::filesystem::create_directories(folder_, code);  // opening says what is wrong
  UniqueFd file(open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  // Not every file system has files without a name.
  std::string name = folder_ + "/upload-XXXXXX";
  file = UniqueFd(mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid()) return CannotSpool(errno);
  if (unlink(name.c_str()) != 0) return CannotSpool(errno);
  return file;
}

Status UploadSpool::Copy(int from, int to, Share& share, const std::stop_token& stop) {
  std::array<std::uint8_t, kSpoolPieceBytes> piece;
  while (!stop.stop_requested()) {
    pollfd poller{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&poller, 1, kStopMillis) == 0) continue;
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got == 0) return OkStatus();
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return CannotSpool(errno);
    if (!Take(share, got)) return IsFull();
    GOPMILL_RETURN_IF_ERROR(WriteWhole(to, std::span(piece).first(static_cast<std::size_t>(got))));
  }
  return Cancelled();
}

bool UploadSpool::Take(Share& share, std::int64_t bytes) {
  if (used_.fetch_add(bytes) + bytes > max_bytes_) {
    used_ -= bytes;
    return false;
  }
  share.bytes_ += bytes;
  return true;
}

Error UploadSpool::IsFull() const {
  return {.code = Code::kResourceExhausted,
          .message = fmt::format("MP4s whose index (moov) comes last may take {} bytes together "
                                 "until they are whole, and there is no room for more.",
                                 max_bytes_),
          .accepted = "an MP4 with its index in front (faststart) or in fragments"};
}

}  // namespace gopmill
