// SPDX-License-Identifier: Apache-2.0
#include "server/session/package_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/unique_fd.h"
#include "server/session/file_error.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

PackageFolder::PackageFolder(std::string path)
    : path_(WithoutSlashes(std::move(path))),
      temporary_(path_ + ".gopmill-" + std::to_string(getpid()) + ".tmp") {}

PackageFolder::~PackageFolder() {
  std::error_code ignored;
  if (created_ && !published_) fs::remove_all(temporary_, ignored);
}

Status PackageFolder::Create() {
  if (path_.empty() || path_ == "-") {
    return InvalidArgument("output", "A package is a folder of files.", "a new or empty folder");
  }
  std::error_code code;
  const fs::file_status status = fs::status(path_, code);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(path_, code))) {
    return InvalidArgument("output", "'" + path_ + "' exists already.", "a new or empty folder");
  }
  const fs::path parent = fs::path(path_).parent_path();
  if (!parent.empty() && !fs::is_directory(parent, code)) {
    return InvalidArgument("output", "There is no folder '" + parent.string() + "'.",
                           "a name in an existing folder");
  }
  if (mkdir(temporary_.c_str(), 0755) != 0) {
    return FileError("The folder '" + path_ + "' cannot be made", errno);
  }
  created_ = true;
  return OkStatus();
}

Status PackageFolder::Write(const std::string& name, std::string_view bytes) {
  const std::string path = temporary_ + "/" + name;
  if (name.find('/') != std::string::npos) {
    std::error_code code;
    fs::create_directories(fs::path(path).parent_path(), code);
    if (code) return FileError("A folder of '" + path_ + "' cannot be made", code.value());
  }
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.valid()) return FileError("'" + path_ + "/" + name + "' cannot be made", errno);
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t put = write(fd.get(), left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError("'" + path_ + "/" + name + "' cannot be written", errno);
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  ++files_;
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return OkStatus();
}

// Renaming replaces an empty folder, and nothing else.
Status PackageFolder::Publish() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileError("The folder '" + path_ + "' cannot be named", errno);
  }
  published_ = true;
  return OkStatus();
}

}  // namespace gopmill
