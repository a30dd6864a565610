// SPDX-License-Identifier: Apache-2.0
#include "server/files/library.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/file_error.h"
#include "base/file_name.h"
#include "base/log.h"
#include "base/log_limit.h"

namespace gopmill {
namespace {

// Folders are dated by a clock that stands still for some milliseconds, on a network for longer.
constexpr std::chrono::seconds kStampPatience(3);

constexpr std::chrono::minutes kBetweenLogLines(1);

Error NoSuchMovie() {
  return Error{.code = Code::kNotFound,
               .message = "There is no such movie in the library.",
               .parameter = "path",
               .accepted = "a path listed by /v1/sources"};
}

// Whether a file could not be opened because of what the path names: nothing, a file outside (never
// told apart), or a socket or device.
bool NoMovieThere(int code) {
  return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EXDEV ||
         code == ENAMETOOLONG || code == ENXIO || code == ENODEV;
}

// Rights have to be given by somebody; all else may be otherwise in a moment.
Error MovieError(const std::string& path, int code) {
  if (NoMovieThere(code)) return NoSuchMovie();
  static LogLimit limit(kBetweenLogLines);
  Error error = FileError("The movie cannot be opened", code);
  const bool forbidden = code == EACCES || code == EPERM || code == ENOSYS;
  error.code = forbidden ? Code::kIo : Code::kUnavailable;
  if (limit.Allows()) spdlog::error("library: {}: {}", path, error.message);
  return error;
}

Error OwnFileError(const std::string& path, int code) {
  return FileError("'" + path + "' cannot be opened", code);
}

Error NoPlainFile(const std::string& path) {
  return Error{.code = Code::kUnsupported, .message = "'" + path + "' is no plain file."};
}

Error RootError(const std::string& folder, int code) {
  static LogLimit limit(kBetweenLogLines);
  Error error = FileError("The library cannot be read", code);
  error.code = Code::kUnavailable;
  if (limit.Allows()) spdlog::error("{}: {}", folder, error.message);
  return error;
}

// For who starts the server.
std::string RightFolder(int code) {
  if (code == ENOSYS || code == EPERM) {
    return "a system with openat2: Linux 5.6 and a seccomp profile that allows it";
  }
  if (code == EACCES) {
    return fmt::format("a folder that user {} of group {} may list and enter", geteuid(),
                       getegid());
  }
  return "an existing folder with movies";
}

// As long as nobody changes something; other errors, as those of a disk that hangs, pass.
bool IsWrong(int code) {
  constexpr std::array kLasting{ENOENT, ENOTDIR, EACCES, EPERM, ENOSYS, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kLasting, code) != kLasting.end();
}

UniqueFd OpenRoot(const std::string& folder) {
  return UniqueFd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd OpenBeneath(const UniqueFd& root, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, root.get(), path, &how, sizeof(how))));
}

// Only to be compared: of times behind 2262 it wraps around.
std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                                   static_cast<std::uint64_t>(time.tv_nsec));
}

// Whether names in the folder can be listed and opened: 0, or errno.
int ReadErrorOf(const std::string& folder) {
  const UniqueFd root = OpenRoot(folder);
  if (!root.valid()) return errno;
  return OpenBeneath(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC).valid() ? 0 : errno;
}

}  // namespace

Result<Library> Library::Open(const std::string& folder, bool own) {
  const int code = own ? (OpenRoot(folder).valid() ? 0 : errno) : ReadErrorOf(folder);
  if (code == 0) return Library(folder, own);
  Error error = InvalidArgument(
      "library", fmt::format("The folder '{}' cannot be read: {}.", folder, std::strerror(code)),
      RightFolder(code));
  if (!IsWrong(code)) error.code = Code::kUnavailable;
  return error;
}

Status Library::Check() const {
  const int code = ReadErrorOf(folder_);
  return code == 0 ? OkStatus() : Status(RootError(folder_, code));
}

UniqueFd Library::OpenIn(const UniqueFd& root, const std::string& path, int flags) const {
  if (own_) return UniqueFd(openat(root.get(), path.c_str(), flags));
  return OpenBeneath(root, path.c_str(), static_cast<std::uint64_t>(flags));
}

Result<UniqueFd> Library::OpenEntry(const std::string& path) const {
  if (path.empty() || path.find('\0') != std::string::npos) return NoSuchMovie();
  // What is hidden is not listed, and not meant for others.
  const bool hidden = path.front() == '.' || path.find("/.") != std::string::npos;
  if (hidden && !own_) return NoSuchMovie();
  const UniqueFd root = OpenRoot(folder_);
  if (!root.valid()) return RootError(folder_, errno);
  // O_NONBLOCK: a named pipe in the library must not hang the opener.
  UniqueFd fd = OpenIn(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (!fd.valid()) return own_ ? OwnFileError(path, errno) : MovieError(path, errno);
  struct stat status {};
  const bool plain = fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (!plain) return own_ ? NoPlainFile(path) : NoSuchMovie();
  return fd;
}

UniqueFd Library::OpenFolderOf(const std::string& path) const {
  const std::size_t name = NameStart(path);
  const std::string folder = name == 0 ? "." : path.substr(0, name);
  return OpenIn(OpenRoot(folder_), folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

std::string Library::FolderStamp(const std::string& path) const {
  const UniqueFd fd = OpenFolderOf(path);
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return {};
  const auto changed = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  if (WallNow() - changed < kStampPatience) return {};
  return fmt::format("{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

bool Library::Entry::IsAs(const Entry& other) const {
  return device == other.device && inode == other.inode && size_bytes == other.size_bytes &&
         modified_ns == other.modified_ns && changed_ns == other.changed_ns;
}

Result<Library::Entry> Library::Describe(std::string path, const UniqueFd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return MovieError(path, errno);
  return Entry{.path = std::move(path),
               .device = status.st_dev,
               .inode = status.st_ino,
               .size_bytes = status.st_size,
               .modified_ns = Nanoseconds(status.st_mtim),
               .changed_ns = Nanoseconds(status.st_ctim),
               .subtitles = {}};
}

Result<Library::Entry> Library::Look(const std::string& path) const {
  GOPMILL_ASSIGN_OR_RETURN(const UniqueFd file, OpenEntry(path));
  return Describe(path, file);
}

std::optional<Library::Entry> Library::Find(const std::string& path) const {
  auto entry = Look(path);
  return entry.ok() ? std::optional(*std::move(entry)) : std::nullopt;
}

}  // namespace gopmill
