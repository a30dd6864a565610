// SPDX-License-Identifier: Apache-2.0
#include "server/files/upload_spool.h"

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

#include "base/log.h"
#include "base/pipe.h"
#include "base/write_whole.h"
#include "media/late_index.h"

namespace gopmill {
namespace {

constexpr std::size_t kSpoolPieceBytes = 64 * 1024;
constexpr int kStopMillis = 50;  // how late a stop is noticed while nothing comes
constexpr std::chrono::milliseconds kPeekAgain{20};

Error CannotSpool(int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return {.code = Code::kResourceExhausted,
            .message = "The disk has no room for an MP4 whose index (moov) comes last.",
            .accepted = "an MP4 with its index in front (faststart) or in fragments",
            .native = error};
  }
  return {.code = Code::kIo,
          .message = "An MP4 whose index (moov) comes last cannot be kept until it is whole.",
          .native = error};
}

Error TooSlow() {
  return {.code = Code::kDeadlineExceeded,
          .message = "The upload came too slowly to be kept until it is whole.",
          .accepted = fmt::format("{} KiB a second", kSlowestUpload >> 10U)};
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

}  // namespace

// How long an upload is waited for.
class UploadPatience {
 public:
  UploadPatience(Duration waits, std::stop_token stop) : waits_(waits), stop_(std::move(stop)) {}

  // Until there is something to read, or nothing will be. Whether more may come.
  Result<bool> Await(int body) {
    while (!stop_.stop_requested()) {
      pollfd poller{.fd = body, .events = POLLIN, .revents = 0};
      const TimePoint begin = SteadyNow();
      const int ready = poll(&poller, 1, kStopMillis);
      waited_ += SteadyNow() - begin;
      if (waited_ > waits_ + std::chrono::seconds(came_ / kSlowestUpload)) return TooSlow();
      if (ready > 0) return (poller.revents & POLLHUP) == 0;
    }
    return Cancelled();
  }
  // What is there does not tell enough.
  void AwaitMore() {
    std::this_thread::sleep_for(kPeekAgain);
    waited_ += kPeekAgain;
  }
  void Came(std::int64_t bytes) { came_ += bytes; }

 private:
  const Duration waits_;
  const std::stop_token stop_;
  Duration waited_{};
  std::int64_t came_ = 0;
};

namespace {

// Whether the body has to be had whole. Waits for as many bytes as tell it.
Result<bool> IsLate(int body, UploadPatience& patience) {
  GOPMILL_ASSIGN_OR_RETURN(const Pipe copy, OpenUploadPipe(PipeReader::kGoesOn));
  // Any pipe has room for what tells it (two pages, of which at least half is used).
  std::array<std::uint8_t, 2 * kMostBeforeIndex> room;
  std::size_t before = 0;
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const bool more, patience.Await(body));
    const auto begin = Peek(body, copy, room);
    const auto late = begin ? HasLateIndex(*begin) : false;
    if (late || !more) return late.value_or(false);
    if (begin->size() == before) patience.AwaitMore();
    before = begin->size();
  }
}

}  // namespace

UploadSpool::UploadSpool(std::string folder, std::int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(folder_.empty() ? 0 : max_bytes) {}

Result<UniqueFd> UploadSpool::Readable(UniqueFd body, Share& share, Duration waits,
                                       const std::stop_token& stop) {
  if (max_bytes_ == 0) return body;
  UploadPatience patience(waits, stop);
  GOPMILL_ASSIGN_OR_RETURN(const bool late, IsLate(body.get(), patience));
  if (!late) return body;
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd file, MakeFile());
  GOPMILL_RETURN_IF_ERROR(Copy(body.get(), file.get(), share, patience));
  if (lseek(file.get(), 0, SEEK_SET) != 0) return CannotSpool(errno);
  return file;
}

Result<UniqueFd> UploadSpool::MakeFile() const {
  auto file = OpenFile();
  if (!file.ok()) {
    spdlog::warn("uploads cannot be kept in {}: {}", folder_,
                 std::error_code(file.error().native, std::generic_category()).message());
  }
  return file;
}

Result<UniqueFd> UploadSpool::OpenFile() const {
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

Status UploadSpool::Copy(int from, int to, Share& share, UploadPatience& patience) {
  std::array<char, kSpoolPieceBytes> piece;
  while (true) {
    GOPMILL_RETURN_IF_ERROR(patience.Await(from));
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got == 0) return OkStatus();
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return CannotSpool(errno);
    patience.Came(got);
    if (!Take(share, got)) return IsFull();
    if (!WriteWhole(to, {piece.data(), static_cast<std::size_t>(got)})) return CannotSpool(errno);
  }
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
