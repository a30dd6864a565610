// SPDX-License-Identifier: Apache-2.0
#include "server/session/library.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/utf8.h"

namespace gopmill {
namespace {

constexpr std::array<std::string_view, 28> kMovieExtensions{
    "mp4", "m4v", "mov",  "mkv", "webm", "ts",  "m2ts", "mts", "mpg", "mpeg",
    "avi", "flv", "ogv",  "ogg", "3gp",  "vob", "mxf",  "dv",  "wmv", "asf",
    "m1v", "m2v", "h264", "264", "hevc", "265", "ivf",  "nut"};

Error NoSuchMovie() {
  return Error{.code = Code::kNotFound,
               .message = "There is no such movie in the library.",
               .accepted = "a path listed by /v1/sources"};
}

int OpenBeneath(int root, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof(how)));
}

}  // namespace

bool HasMovieExtension(const std::string& name) {
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string extension = name.substr(dot + 1);
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kMovieExtensions, extension) != kMovieExtensions.end();
}

Result<Library> Library::Open(const std::string& folder) {
  UniqueFd root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    return InvalidArgument("library", "'" + folder + "' is not a folder that can be read.",
                           "an existing folder with movies");
  }
  return Library(folder, std::move(root));
}

Result<UniqueFd> Library::OpenEntry(const std::string& path) const {
  if (path.empty() || path.find('\0') != std::string::npos) return NoSuchMovie();
  // O_NONBLOCK: a named pipe in the library must not hang the opener.
  UniqueFd fd(OpenBeneath(root_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return NoSuchMovie();
  struct stat status {};
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return NoSuchMovie();
  return fd;
}

std::vector<Library::Entry> Library::List() const {
  namespace fs = std::filesystem;
  std::vector<Entry> entries;
  std::error_code code;
  fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, code);
  for (const fs::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (at.depth() >= kMaxLibraryDepth || name.starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    // A name that is not UTF-8 cannot be asked for: no request may hold it.
    if (!HasMovieExtension(name) || !IsUtf8(name)) continue;
    // By name alone: an entry that is a symlink keeps its own name.
    std::string path = at->path().lexically_relative(folder_).generic_string();
    const auto fd = OpenEntry(path);
    struct stat status {};
    if (!fd.ok() || fstat(fd->get(), &status) != 0) continue;
    entries.push_back(
        {.path = std::move(path),
         .size_bytes = status.st_size,
         .modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
    if (entries.size() == kMaxLibraryEntries) break;
  }
  std::ranges::sort(entries, {}, &Entry::path);
  return entries;
}

}  // namespace gopmill
