// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/rename.h"
#include "scheduler/sim/trace.h"

namespace gopmill {
namespace {

Error NoTraceFile(Code code, std::string message, int reason = 0) {
  return Error{.code = code,
               .message = std::move(message),
               .parameter = "record",
               .accepted = "a file in a folder that can be written to",
               .native = reason};
}

Error CannotRecord(const std::filesystem::path& file, int reason) {
  const bool name = reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == EACCES;
  return NoTraceFile(name ? Code::kInvalidArgument : Code::kIo,
                     "The trace " + file.string() + " cannot be written.", reason);
}

Status KeepUnderAnotherName(const std::filesystem::path& file) {
  for (int number = 1; number <= kMaxKeptTraces; ++number) {
    const std::string kept = fmt::format("{}.{}", file.string(), number);
    const int code = RenameToNew(AT_FDCWD, file.c_str(), AT_FDCWD, kept.c_str());
    if (code == 0) return OkStatus();
    if (code != EEXIST) {
      return NoTraceFile(Code::kIo, "There is a trace that cannot be kept as " + kept + ".", code);
    }
  }
  return NoTraceFile(Code::kUnavailable,
                     fmt::format("{} traces of {} are kept already: move some away.",
                                 kMaxKeptTraces, file.string()));
}

// Whether there is anything but the header of a trace, or the beginning of one.
bool HasContent(int fd) {
  std::array<char, kMaxTraceLine> buffer{};
  const ssize_t size = pread(fd, buffer.data(), buffer.size(), 0);
  if (size <= 0) return size < 0;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  const std::string_view start = kTraceStart;
  const bool is_header = text.substr(0, start.size()) == start.substr(0, text.size());
  const std::size_t line = text.find('\n');
  const bool is_all =
      line == std::string_view::npos ? text.size() < buffer.size() : line + 1 == text.size();
  return !is_header || !is_all;
}

// Some network file systems have no locks: there it is left to whoever starts the processes.
Status Lock(int fd, const std::filesystem::path& file) {
  int code = 0;
  do {
    code = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code != EWOULDBLOCK) return OkStatus();
  return NoTraceFile(Code::kUnavailable, "Another process records into " + file.string() + ".");
}

// Not if another process has given it another name meanwhile.
bool IsStill(const struct stat& opened, const std::filesystem::path& file) {
  struct stat now {};
  return stat(file.c_str(), &now) == 0 && now.st_dev == opened.st_dev &&
         now.st_ino == opened.st_ino;
}

}  // namespace

Result<TraceFile> OpenTraceFile(const std::filesystem::path& file) {
  std::error_code missing;
  const auto real = std::filesystem::canonical(file, missing);
  const std::filesystem::path path = missing ? file : real;
  while (true) {
    struct stat status {};
    const bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    const int flags = special ? O_WRONLY : O_RDWR | O_CREAT;
    UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0666));
    if (!fd.valid() || fstat(fd.get(), &status) != 0) return CannotRecord(path, errno);
    if (!S_ISREG(status.st_mode)) return TraceFile{path, std::move(fd)};
    GOPMILL_RETURN_IF_ERROR(Lock(fd.get(), path));
    if (!IsStill(status, path)) continue;
    if (!HasContent(fd.get())) {
      if (ftruncate(fd.get(), 0) != 0) return CannotRecord(path, errno);
      return TraceFile{path, std::move(fd)};
    }
    GOPMILL_RETURN_IF_ERROR(KeepUnderAnotherName(path));
  }
}

}  // namespace gopmill
