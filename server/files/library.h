// SPDX-License-Identifier: Apache-2.0
//
// The folder of movies that may be asked for. Entries are named by their path below the root.
//
// Guarantee: nothing outside the root is ever opened, unless it is the folder of whoever asks (the
// command line). The kernel resolves each name beneath the root (openat2 with RESOLVE_BENEATH), so
// neither `..` nor a symlink leads out of it, not even one that is swapped in during the open;
// symlinks that stay inside are fine.
//
// The root is looked up by its name each time: a folder that is mounted later, or goes and comes
// back, is the library from then on.
//
// kNotFound is said of paths only. What the server may not or cannot read is kIo or kUnavailable
// and a line in the log, one a minute: nobody shall take it for a movie that is gone.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "media/source.h"

namespace gopmill {

inline constexpr std::size_t kMaxLibraryEntries = 10'000;
inline constexpr int kMaxLibraryDepth = 8;
inline constexpr std::size_t kMaxSubtitleFiles = 32;  // of one movie

class Library {
 public:
  // kInvalidArgument when `folder` is none whose names can be listed and opened, with what would
  // be. `own`: whoever asks may read all of it anyway. Names with a dot in front can be opened
  // then, symlinks lead where they lead, and errors name the file.
  static Result<Library> Open(const std::string& folder, bool own = false);
  // Whether that is so now; else kUnavailable.
  [[nodiscard]] Status Check() const;

  // Opens one entry for reading. kNotFound when there is none (or it is not a plain file, or lies
  // outside); never tells a path of the server, unless it is one's own.
  [[nodiscard]] Result<UniqueFd> OpenEntry(const std::string& path) const;

  struct Entry {
    std::string path;  // below the root, with slashes
    std::uint64_t device = 0, inode = 0;
    std::int64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  // of anything, its name and rights included; nobody can set it
    std::vector<std::string> subtitles;  // names of the files beside it; filled by List only

    // Whether it is the same file, and nothing of it has changed.
    [[nodiscard]] bool IsAs(const Entry& other) const;
  };
  // What is open. Errors as of OpenEntry.
  static Result<Entry> Describe(std::string path, const UniqueFd& file);
  // All files with a movie's extension, sorted by path; hidden ones are left out. Those that cannot
  // be opened have no more than their path. kUnavailable as for Check.
  [[nodiscard]] Result<std::vector<Entry>> List() const;
  // Paths of the files of subtitles that lie beside a movie, sorted, at most kMaxSubtitleFiles:
  // those whose name begins with the movie's own, without its extension, and with no longer one's.
  // Reads the names in the movie's folder.
  [[nodiscard]] std::vector<std::string> SubtitlesOf(const std::string& path) const;
  // Says which names the movie's folder holds: it changes with them. Empty when they have changed
  // so lately that the next change may not show.
  [[nodiscard]] std::string FolderStamp(const std::string& path) const;
  // One of any kind, if it can be opened; without `subtitles`.
  [[nodiscard]] std::optional<Entry> Find(const std::string& path) const;

 private:
  Library(std::string folder, bool own) : folder_(std::move(folder)), own_(own) {}
  [[nodiscard]] UniqueFd OpenIn(const UniqueFd& root, const std::string& path, int flags) const;
  [[nodiscard]] UniqueFd OpenFolderOf(const std::string& path) const;
  // Find, with the reason why there is none.
  [[nodiscard]] Result<Entry> Look(const std::string& path) const;
  [[nodiscard]] bool IsThere(const std::string& path) const;

  std::string folder_;
  bool own_;
};

// Whether a file name looks like a movie.
bool HasMovieExtension(const std::string& name);

}  // namespace gopmill
