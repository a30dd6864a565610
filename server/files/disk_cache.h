// SPDX-License-Identifier: Apache-2.0
//
// What was made once (segments, indexes of movies), kept in a folder, shared by all clients and
// found again after a restart. Bounded in bytes; what has not been asked for the longest goes
// first.
//
// Nothing here is an error to its caller: what cannot be read is a miss, what cannot be written is
// not kept. On a disk that is full before the limit is reached the oldest make room as well. A file
// appears under its name only when it is whole (rename), and carries a checksum,
// so a crash or a full disk leaves no half file behind. Several processes may share the folder:
// a file that is being written is locked, what an ended process left unfinished is removed.
//
// Who asks for bytes while others have them gets the same, not a copy.
//
// Thread-safety: safe. Files are read and written without the lock.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/thread_safety.h"

namespace gopmill {

struct DiskCacheStats {
  std::uint64_t hits = 0, misses = 0, stored = 0, evicted = 0;
  std::uint64_t failed = 0;  // could not be written, or were damaged
  std::int64_t bytes = 0, files = 0;
};

class DiskCache {
 public:
  // Makes the folder, with a warning where that fails or it cannot be written, and takes over what
  // is in it. An empty `folder`, with a warning, or `limit_bytes` of 0 give a cache that keeps
  // nothing. `what` is kept there, for warnings: "segments".
  static std::unique_ptr<DiskCache> Open(const std::string& folder, std::int64_t limit_bytes,
                                         const std::string& what = "segments");

  // `key`: hexadecimal digits.
  std::shared_ptr<const std::string> Get(const std::string& key);  // null if it is not there
  void Put(const std::string& key, const std::shared_ptr<const std::string>& bytes);
  // What was kept is not what its name says: the next Put replaces it. Counts as failed.
  void Drop(const std::string& key);
  // Whether it is there. Reads nothing, and counts as no look for it.
  [[nodiscard]] bool Has(const std::string& key) const;
  // How much of the limit is in use, 0 to 1; 1 if nothing is kept.
  [[nodiscard]] double fill() const;
  // Whether so many bytes would be kept.
  [[nodiscard]] bool Takes(std::size_t bytes) const;
  [[nodiscard]] DiskCacheStats stats() const;

 private:
  struct Entry {
    std::string key;
    std::int64_t bytes = 0;
    std::weak_ptr<const std::string> in_memory = {};  // while somebody has them
  };
  DiskCache(std::string folder, std::int64_t limit, std::string what)
      : folder_(std::move(folder)), limit_bytes_(limit), what_(std::move(what)) {}
  void Adopt();
  void Remember(Entry entry);
  void Forget(const std::string& key);
  void Remove(const std::string& key);  // and its file
  int WriteFile(const std::string& key, const std::string& bytes);
  int WriteToDisk(const std::string& key, const std::string& bytes);
  // Whether so many of the oldest would make room for so many bytes.
  [[nodiscard]] bool OldestMakeRoom(std::size_t bytes, int most) const;
  std::string TakeOldest() GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] std::int64_t largest() const;  // of a file
  [[nodiscard]] std::string PathOf(const std::string& key) const { return folder_ + "/" + key; }

  const std::string folder_;  // empty: keeps nothing
  const std::int64_t limit_bytes_;
  const std::string what_;
  mutable Mutex mutex_;                                  // guards everything below
  std::list<Entry> entries_ GOPMILL_GUARDED_BY(mutex_);  // asked for last in front
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_ GOPMILL_GUARDED_BY(mutex_);
  DiskCacheStats stats_ GOPMILL_GUARDED_BY(mutex_);
  bool disk_was_full_ GOPMILL_GUARDED_BY(mutex_) = false;
};

// The folder used when the settings name none: $CACHE_DIRECTORY (systemd), $XDG_CACHE_HOME/gopmill
// or ~/.cache/gopmill, each with /segments; empty when there is no such variable.
std::string DefaultSegmentFolder();

}  // namespace gopmill
