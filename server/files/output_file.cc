// SPDX-License-Identifier: Apache-2.0
#include "server/files/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "base/file_error.h"
#include "base/file_name.h"
#include "base/rename.h"
#include "base/unique_fd.h"
#include "base/utf8.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;             // as the kernel follows
constexpr std::size_t kLongestName = 255;  // bytes
constexpr mode_t kPermissions = 07777;

// Two processes may have one number, in two containers. Longer names than may be are cut.
std::string TemporaryNameFor(const std::string& path) {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32U | random();
  const std::string suffix = fmt::format(".gopmill-{:016x}.tmp", number);
  const std::size_t start = NameStart(path);
  return path.substr(0, start) + WellFormed(path.substr(start), kLongestName - suffix.size()) +
         suffix;
}

struct Followed {
  std::string path;
  bool of_a_process = false;  // a descriptor by its name
};

Result<Followed> Follow(const std::string& path) {
  std::error_code code;
  Followed followed;
  fs::path at = fs::absolute(path, code);
  for (int links = 0;; ++links) {
    const fs::path folder = fs::weakly_canonical(at.parent_path(), code);
    if (!code) at = folder / at.filename();
    followed.of_a_process |= at.native().starts_with("/proc/");
    if (!fs::is_symlink(fs::symlink_status(at, code))) break;
    if (links == kMostLinks) {
      return InvalidArgument("output", "The links of '" + path + "' go round.", "a file name");
    }
    const fs::path next = fs::read_symlink(at, code);
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  followed.path = at.string();
  return followed;
}

Status CheckKind(const std::string& given, const Followed& followed, bool force) {
  std::error_code code;
  const auto status = fs::status(followed.path, code);
  if (fs::is_directory(status)) {
    return InvalidArgument("output", "'" + given + "' is a folder.", "a file name or -");
  }
  // /dev/stdout may lead to a plain file, but who wrote the command has that open and reads it.
  if (followed.of_a_process || (fs::exists(status) && !fs::is_regular_file(status))) {
    return InvalidArgument("output", "'" + given + "' is not a plain file.",
                           "a file name, or - with a redirection");
  }
  if (fs::exists(status) && !force) {
    return InvalidArgument("output", "'" + given + "' exists already.",
                           "another file name, or --force to replace it");
  }
  return OkStatus();
}

}  // namespace

Result<std::string> WrittenPath(const std::string& path) {
  GOPMILL_ASSIGN_OR_RETURN(Followed followed, Follow(path));
  return std::move(followed.path);
}

Result<OutputFile> OutputFile::Choose(const std::string& path, bool force) {
  if (path.empty() || path.ends_with('/')) {
    return InvalidArgument("output", "'" + path + "' is no name of a file.", "a file name or -");
  }
  GOPMILL_ASSIGN_OR_RETURN(Followed followed, Follow(path));
  GOPMILL_RETURN_IF_ERROR(CheckKind(path, followed, force));
  std::error_code ignored;
  if (!fs::is_directory(fs::path(followed.path).parent_path(), ignored)) {
    return InvalidArgument("output", "'" + path + "' lies in a folder that is not there.",
                           "a file name in a folder that exists");
  }
  return OutputFile(path, std::move(followed.path), force);
}

OutputFile::OutputFile(std::string given, std::string final_path, bool force)
    : given_(std::move(given)),
      final_(std::move(final_path)),
      temporary_(TemporaryNameFor(final_)),
      force_(force) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : given_(std::move(other.given_)),
      final_(std::move(other.final_)),
      temporary_(std::move(other.temporary_)),
      force_(other.force_),
      made_(std::exchange(other.made_, false)),
      rights_(other.rights_) {}

OutputFile::~OutputFile() {
  if (made_) unlink(temporary_.c_str());
}

Status OutputFile::Create(int source_fd) {
  struct stat source {
  }, old{};
  const bool replaces = stat(final_.c_str(), &old) == 0;
  if (replaces && fstat(source_fd, &source) == 0 && source.st_dev == old.st_dev &&
      source.st_ino == old.st_ino) {
    return InvalidArgument("output", "The output would replace its own source.",
                           "another file name");
  }
  // Nobody may read meanwhile what few may read in the end.
  if (replaces) rights_ = Rights{old.st_uid, old.st_gid, old.st_mode & kPermissions};
  const UniqueFd fd(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         replaces ? 0600 : 0666));
  if (!fd.valid()) return FileError("The output '" + given_ + "' cannot be made", errno);
  made_ = true;
  return OkStatus();
}

// When it is complete: what may only be read could not be written. The owner first, as a change of
// it takes permissions away. Where that fails, others are in its group, and act in its name.
void OutputFile::HandOn(const Rights& rights, int fd) {
  const bool owned = fchown(fd, rights.owner, rights.group) == 0;
  static_cast<void>(fchmod(fd, owned ? rights.mode : rights.mode & 0707U));
}

Status OutputFile::Name() {
  const char* from = temporary_.c_str();
  const char* to = final_.c_str();
  int code = 0;
  if (!force_) code = RenameToNew(AT_FDCWD, from, AT_FDCWD, to);
  if (force_ && std::rename(from, to) != 0) code = errno;
  if (code != 0) return FileError("The output '" + given_ + "' cannot be named", code);
  made_ = false;
  return OkStatus();
}

// A name is on the disk when its folder is. Whoever may write into one may not always open it.
Status OutputFile::SyncFolder() const {
  const std::string folder = fs::path(final_).parent_path().string();
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) == 0 || errno == EINVAL) return OkStatus();
  return FileError("The output '" + given_ + "' is whole, but its name is not on the disk", errno);
}

Status OutputFile::Publish() {
  const UniqueFd fd(open(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return FileError("The output '" + given_ + "' cannot be written to the disk", errno);
  }
  if (rights_) HandOn(*rights_, fd.get());
  Status named = Name();
  if (named.ok()) return SyncFolder();
  made_ = false;
  Error error = named.error();
  error.message += " What was made is whole, and left as '" + temporary_ + "'.";
  return error;
}

}  // namespace gopmill
