// SPDX-License-Identifier: Apache-2.0
#include "server/session/library.h"

#include <dirent.h>
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
#include <filesystem>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file_name.h"
#include "base/utf8.h"
#include "media/subtitle_file.h"
#include "server/session/file_error.h"

namespace gopmill {
namespace {

constexpr std::array<std::string_view, 28> kMovieExtensions{
    "mp4", "m4v", "mov",  "mkv", "webm", "ts",  "m2ts", "mts", "mpg", "mpeg",
    "avi", "flv", "ogv",  "ogg", "3gp",  "vob", "mxf",  "dv",  "wmv", "asf",
    "m1v", "m2v", "h264", "264", "hevc", "265", "ivf",  "nut"};

// Folders are dated by a clock that stands still for some milliseconds, on a network for longer.
constexpr std::chrono::seconds kStampPatience(3);

Error NoSuchMovie() {
  return Error{.code = Code::kNotFound,
               .message = "There is no such movie in the library.",
               .parameter = "path",
               .accepted = "a path listed by /v1/sources"};
}

// What does not speak of the path may be otherwise in a moment.
Error OpenError(int code) {
  if (code != EMFILE && code != ENFILE && code != ENOMEM && code != EIO) return NoSuchMovie();
  Error error = FileError("The movie cannot be opened now", code);
  error.code = Code::kUnavailable;
  return error;
}

int OpenBeneath(int root, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof(how)));
}

Library::Entry EntryOf(std::string path, const struct stat& status) {
  return {.path = std::move(path),
          .device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = status.st_size,
          .modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          .subtitles = {}};
}

// Gives each file of subtitles to the movies with the longest name that its own begins with.
void GiveSubtitles(std::vector<std::string> texts, std::vector<Library::Entry>& entries) {
  std::ranges::sort(texts);
  std::unordered_multimap<std::string_view, Library::Entry*> movies;
  for (Library::Entry& entry : entries) movies.emplace(StemOf(entry.path), &entry);
  for (const std::string& text : texts) {
    const std::size_t name = NameStart(text);
    std::string_view stem = StemOf(text);
    for (auto shorter = StemOf(stem); !movies.contains(stem) && shorter != stem;) {
      stem = std::exchange(shorter, StemOf(shorter));
    }
    for (auto [at, end] = movies.equal_range(stem); at != end; ++at) {
      auto& list = at->second->subtitles;
      if (list.size() < kMaxSubtitleFiles) list.push_back(text.substr(name));
    }
  }
}

// Names in a folder that begin with `stem` and a dot.
std::vector<std::string> NamesFrom(UniqueFd folder, std::string_view stem) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(folder.get()), &closedir);
  if (open == nullptr) return names;
  (void)folder.Release();  // `open` closes it
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > stem.size() && name.starts_with(stem) && name[stem.size()] == '.' &&
        IsUtf8(name)) {
      names.emplace_back(name);
    }
  }
  return names;
}

// What no request may hold (server/http/target.cc) is not listed.
bool CanBeAskedFor(std::string_view path) {
  const auto refused = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\';
  };
  return IsUtf8(path) && std::ranges::none_of(path, refused);
}

}  // namespace

bool HasMovieExtension(const std::string& name) {
  return std::ranges::find(kMovieExtensions, ExtensionOf(name)) != kMovieExtensions.end();
}

Result<Library> Library::Open(const std::string& folder, bool hidden) {
  UniqueFd root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    return InvalidArgument("library", "'" + folder + "' is not a folder that can be read.",
                           "an existing folder with movies");
  }
  return Library(folder, std::move(root), hidden);
}

Result<UniqueFd> Library::OpenEntry(const std::string& path) const {
  if (path.empty() || path.find('\0') != std::string::npos) return NoSuchMovie();
  // What is hidden is not listed, and not meant for others.
  const bool hidden = path.front() == '.' || path.find("/.") != std::string::npos;
  if (hidden && !hidden_) return NoSuchMovie();
  // O_NONBLOCK: a named pipe in the library must not hang the opener.
  UniqueFd fd(OpenBeneath(root_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return OpenError(errno);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return NoSuchMovie();
  return fd;
}

std::vector<Library::Entry> Library::List() const {
  namespace fs = std::filesystem;
  std::vector<Entry> entries;
  std::vector<std::string> texts;  // paths of files of subtitles
  std::error_code code;
  fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, code);
  for (const fs::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (at.depth() >= kMaxLibraryDepth || name.starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    const bool movie = HasMovieExtension(name);
    if (!movie && !HasSubtitleExtension(name)) continue;
    // By name alone: an entry that is a symlink keeps its own name.
    std::string path = at->path().lexically_relative(folder_).generic_string();
    if (!CanBeAskedFor(path)) continue;
    if (!movie) {
      if (texts.size() < kMaxLibraryEntries) texts.push_back(std::move(path));
      continue;
    }
    auto entry = Find(path);
    if (!entry) continue;
    entries.push_back(*std::move(entry));
    if (entries.size() == kMaxLibraryEntries) break;
  }
  std::ranges::sort(entries, {}, &Entry::path);
  GiveSubtitles(std::move(texts), entries);
  return entries;
}

UniqueFd Library::OpenFolderOf(const std::string& path) const {
  const std::size_t name = NameStart(path);
  const std::string folder = name == 0 ? "." : path.substr(0, name);
  return UniqueFd(OpenBeneath(root_.get(), folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::vector<std::string> Library::SubtitlesOf(const std::string& path) const {
  UniqueFd fd = OpenFolderOf(path);
  if (!fd.valid()) return {};
  const std::size_t name = NameStart(path);
  std::vector<Entry> found(1);
  found.front().path = path;
  std::vector<std::string> texts;
  for (std::string& other : NamesFrom(std::move(fd), StemOf(path).substr(name))) {
    const std::string whole = path.substr(0, name) + other;
    if (HasSubtitleExtension(other)) texts.push_back(whole);
    if (HasMovieExtension(other) && whole != path) found.emplace_back().path = whole;
  }
  GiveSubtitles(std::move(texts), found);
  std::vector<std::string> paths;
  for (const std::string& text : found.front().subtitles) {
    paths.push_back(path.substr(0, name) + text);
  }
  return paths;
}

std::string Library::FolderStamp(const std::string& path) const {
  const UniqueFd fd = OpenFolderOf(path);
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return {};
  const auto changed = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  if (std::chrono::system_clock::now() - changed < kStampPatience) return {};
  return fmt::format("{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::optional<Library::Entry> Library::Find(const std::string& path) const {
  const auto file = OpenEntry(path);
  struct stat status {};
  if (!file.ok() || fstat(file->get(), &status) != 0) return std::nullopt;
  return EntryOf(path, status);
}

}  // namespace gopmill
