// SPDX-License-Identifier: Apache-2.0
#include "server/files/package_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/file_error.h"
#include "base/rename.h"
#include "base/write_whole.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAccepted = "a new or empty folder";

// A name that is missing is that of the output, not of the source.
Error OutputError(const std::string& doing, int code) {
  Error error = FileError(doing, code);
  if (error.code == Code::kNotFound) error.code = Code::kIo;
  return error;
}

Error Taken(const std::string& message) { return InvalidArgument("output", message, kAccepted); }

UniqueFd OpenFolderAt(int at, const char* name, int flags = 0) {
  return UniqueFd(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

// Another name for an open folder, whatever happens to its own.
std::string NameOf(const UniqueFd& folder) { return fmt::format("/proc/self/fd/{}", folder.get()); }

// Its root has that one on some file systems.
bool BelongsToTheDisk(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.path().filename() == "lost+found" && entry.is_directory(ignored);
}

bool Same(int fd, int at, const char* name) {
  struct stat open {
  }, named{};
  return fstat(fd, &open) == 0 && fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

PackageFolder::PackageFolder(std::string path) : path_(std::move(path)) {}

PackageFolder::~PackageFolder() {
  if (published_) return;
  std::error_code ignored;
  if (folder_.valid()) {
    const fs::path folder = NameOf(folder_);
    for (const std::string& name : moved_) fs::remove_all(folder / name, ignored);
    if (incomplete_.valid()) fs::remove_all(folder / kIncompleteFolder, ignored);
  }
  if (made_) rmdir(path_.c_str());
}

Status PackageFolder::OpenFolder() {
  made_ = mkdir(path_.c_str(), 0777) == 0;
  if (!made_ && errno == ENOENT) {
    return InvalidArgument("output",
                           "There is no folder '" + fs::path(path_).parent_path().string() + "'.",
                           "a name in an existing folder");
  }
  if (!made_ && errno != EEXIST) return OutputError("'" + path_ + "' cannot be made", errno);
  folder_ = OpenFolderAt(AT_FDCWD, path_.c_str());
  if (folder_.valid()) {
    std::error_code code;
    const fs::path real = fs::canonical(path_, code);
    if (!code) path_ = real.string();
    return OkStatus();
  }
  if (errno == ENOENT) return Taken("'" + path_ + "' is a link to nothing.");
  if (errno == ENOTDIR) return Taken("'" + path_ + "' exists already, and is no folder.");
  return OutputError("The folder '" + path_ + "' cannot be read", errno);
}

Status PackageFolder::CheckEmpty() const {
  std::error_code code;
  for (fs::directory_iterator at(NameOf(folder_), code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (name == kIncompleteFolder || BelongsToTheDisk(*at)) continue;
    return Taken("'" + path_ + "' exists already, and holds '" + name + "'.");
  }
  return code ? Status(OutputError("The folder '" + path_ + "' cannot be read", code.value()))
              : OkStatus();
}

// A hidden folder without a lock was left by a process that is gone.
Status PackageFolder::Claim() {
  const int at = folder_.get();
  const auto busy = [&] { return Taken("Another gopmill writes into '" + path_ + "'."); };
  const std::string name = path_ + "/" + kIncompleteFolder;
  for (const bool again : {false, true}) {
    const bool made = mkdirat(at, kIncompleteFolder, 0777) == 0;
    if (!made && errno != EEXIST) {
      return OutputError("Nothing can be written into '" + path_ + "'", errno);
    }
    UniqueFd hidden = OpenFolderAt(at, kIncompleteFolder, O_NOFOLLOW);
    if (!hidden.valid() && (errno == ENOTDIR || errno == ELOOP)) {
      return Taken("'" + name + "' is no folder.");
    }
    if (!hidden.valid() && errno != ENOENT) {
      return OutputError("The folder '" + name + "', left by another run, cannot be read", errno);
    }
    const bool locked = hidden.valid() && flock(hidden.get(), LOCK_EX | LOCK_NB) == 0;
    if (hidden.valid() && !locked && errno != EWOULDBLOCK) {
      return OutputError("The folder '" + name + "' cannot be locked", errno);
    }
    if (!locked || !Same(hidden.get(), at, kIncompleteFolder)) return busy();
    std::error_code code;
    const fs::path path = fs::path(NameOf(folder_)) / kIncompleteFolder;
    if (made || again || fs::is_empty(path, code)) {
      incomplete_ = std::move(hidden);
      return OkStatus();
    }
    fs::remove_all(path, code);
    if (code) return OutputError("'" + name + "' cannot be removed", code.value());
  }
  return busy();
}

Status PackageFolder::Create() {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  if (path_.empty() || path_ == "-") {
    return InvalidArgument("output", "A package is a folder of files.", kAccepted);
  }
  GOPMILL_RETURN_IF_ERROR(OpenFolder());
  GOPMILL_RETURN_IF_ERROR(CheckEmpty());
  GOPMILL_RETURN_IF_ERROR(Claim());
  return CheckEmpty();  // who had the lock until now may have published
}

Status PackageFolder::Write(const std::string& name, std::string_view bytes) {
  const int at = incomplete_.get();
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (mkdirat(at, name.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST) {
      return OutputError("A folder in '" + path_ + "' cannot be made", errno);
    }
  }
  const auto failed = [&](const char* what, int code) {
    return OutputError("'" + path_ + "/" + name + "' cannot be " + what, code);
  };
  UniqueFd fd(openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd.valid()) return failed("made", errno);
  if (!WriteWhole(fd.get(), bytes)) return failed("written", errno);
  // Network file systems tell of a full disk now.
  if (close(fd.Release()) != 0) return failed("written", errno);
  ++files_;
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return OkStatus();
}

Status PackageFolder::MoveUp(const std::string& name) {
  const int code = RenameToNew(incomplete_.get(), name.c_str(), folder_.get(), name.c_str());
  if (code == EEXIST) {
    return Taken("'" + path_ + "/" + name + "' has been made by somebody else meanwhile.");
  }
  if (code != 0) return OutputError("'" + path_ + "/" + name + "' cannot be named", code);
  moved_.push_back(name);
  return OkStatus();
}

Status PackageFolder::Publish(const std::vector<std::string>& last) {
  GOPMILL_RETURN_IF_ERROR(CheckEmpty());
  if (syncfs(incomplete_.get()) != 0) {
    return OutputError("'" + path_ + "' cannot be written to the disk", errno);
  }
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator at(NameOf(incomplete_), code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (std::ranges::find(last, name) == last.end()) names.push_back(name);
  }
  if (code)
    return OutputError("What was written into '" + path_ + "' cannot be read", code.value());
  for (const std::string& name : names) GOPMILL_RETURN_IF_ERROR(MoveUp(name));
  for (const std::string& name : last) GOPMILL_RETURN_IF_ERROR(MoveUp(name));
  unlinkat(folder_.get(), kIncompleteFolder, AT_REMOVEDIR);
  if (fsync(folder_.get()) != 0 && errno != EINVAL) {  // EINVAL: not with folders
    return OutputError("'" + path_ + "' cannot be written to the disk", errno);
  }
  published_ = true;
  return OkStatus();
}

}  // namespace gopmill
