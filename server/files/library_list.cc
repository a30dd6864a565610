// SPDX-License-Identifier: Apache-2.0
//
// The part of Library that reads folders: movies, and the files of subtitles beside them.
#include <dirent.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/file_name.h"
#include "base/library_path.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/utf8.h"
#include "media/subtitle_file.h"
#include "server/files/library.h"

namespace gopmill {
namespace {

constexpr std::array<std::string_view, 28> kMovieExtensions{
    "mp4", "m4v", "mov",  "mkv", "webm", "ts",  "m2ts", "mts", "mpg", "mpeg",
    "avi", "flv", "ogv",  "ogg", "3gp",  "vob", "mxf",  "dv",  "wmv", "asf",
    "m1v", "m2v", "h264", "264", "hevc", "265", "ivf",  "nut"};

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
    if (name.size() > stem.size() && name.starts_with(stem) && name[stem.size()] == '.') {
      names.emplace_back(name);
    }
  }
  return names;
}

// Calls `visit` with the path, below `root`, of each plain file beneath it that is not hidden,
// until that returns false. Folders that are symlinks are not entered. A folder that is removed
// meanwhile, or cannot be read, costs the files in it and no others.
void VisitFiles(const std::string& root, const std::function<bool(std::string)>& visit) {
  namespace fs = std::filesystem;
  static LogLimit limit(std::chrono::minutes(1));
  struct Folder {
    std::string prefix;  // of the paths in it
    int depth = 0;
  };
  for (std::vector<Folder> folders(1); !folders.empty();) {
    const Folder folder = std::move(folders.back());
    folders.pop_back();
    std::error_code code;
    fs::directory_iterator at(root + "/" + folder.prefix, code);
    for (const fs::directory_iterator end; !code && at != end; at.increment(code)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with('.')) continue;
      std::error_code removed;
      if (!at->is_symlink(removed) && at->is_directory(removed)) {
        if (folder.depth + 1 < kMaxLibraryDepth) {
          folders.push_back({folder.prefix + name + "/", folder.depth + 1});
        }
      } else if (at->is_regular_file(removed) && !visit(folder.prefix + name)) {
        return;
      }
    }
    if (code && code != std::errc::no_such_file_or_directory && limit.Allows()) {
      spdlog::error("library: the folder {}/{} cannot be read: {}.", root, folder.prefix,
                    code.message());
    }
  }
}

// What no request may hold is not listed.
bool CanBeAskedFor(std::string_view path) { return CheckLibraryPath(path).ok(); }

}  // namespace

bool HasMovieExtension(const std::string& name) {
  return std::ranges::find(kMovieExtensions, ExtensionOf(name)) != kMovieExtensions.end();
}

// Not a symlink that leads nowhere or out of the library, say; maybe not to be read. Of one's own
// folder it is told what cannot be opened.
bool Library::IsThere(const std::string& path) const {
  if (own_) return IsUtf8(path);
  if (!CanBeAskedFor(path)) return false;
  const auto entry = Look(path);
  return entry.ok() || entry.error().code != Code::kNotFound;
}

Result<std::vector<Library::Entry>> Library::List() const {
  GOPMILL_RETURN_IF_ERROR(Check());
  std::vector<Entry> entries;
  std::vector<std::string> texts;  // paths of files of subtitles
  VisitFiles(folder_, [&](std::string path) {
    const bool movie = HasMovieExtension(path);
    if ((!movie && !HasSubtitleExtension(path)) || !CanBeAskedFor(path)) return true;
    if (!movie) {
      if (texts.size() < kMaxLibraryEntries && IsThere(path)) texts.push_back(std::move(path));
      return true;
    }
    auto entry = Look(path);
    if (entry.ok()) {
      entries.push_back(*std::move(entry));
    } else if (entry.error().code != Code::kNotFound) {
      entries.emplace_back().path = std::move(path);
    }
    return entries.size() < kMaxLibraryEntries;
  });
  std::ranges::sort(entries, {}, &Entry::path);
  GiveSubtitles(std::move(texts), entries);
  return entries;
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
    if (HasSubtitleExtension(other) && IsThere(whole)) texts.push_back(whole);
    if (HasMovieExtension(other) && IsUtf8(other) && whole != path)
      found.emplace_back().path = whole;
  }
  GiveSubtitles(std::move(texts), found);
  std::vector<std::string> paths;
  for (const std::string& text : found.front().subtitles) {
    paths.push_back(path.substr(0, name) + text);
  }
  return paths;
}

}  // namespace gopmill
