// SPDX-License-Identifier: Apache-2.0
#include "server/files/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/write_whole.h"
#include "media/digest.h"
#include "media/source.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".new-";
constexpr std::size_t kKeyDigits = 64;
// In front of the bytes: a mark, their number and their CRC-32, in the machine's byte order.
struct Header {
  std::array<char, 8> mark{'G', 'O', 'P', 'S', 'E', 'G', '1', '\n'};
  std::uint64_t bytes = 0;
  std::uint64_t crc = 0;
};
// One file may fill at most this part of the cache.
constexpr std::int64_t kLargestShare = 4;

bool IsKey(const std::string& name) {
  return name.size() == kKeyDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool ReadBytes(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// What was stored, if the file is whole.
std::optional<std::string> ReadFile(int fd, std::int64_t largest) {
  struct stat status {};
  Header header;
  const Header expected;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size > largest) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!ReadBytes(fd, reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (header.mark != expected.mark || header.bytes != size - sizeof header) return std::nullopt;
  std::string bytes(header.bytes, '\0');
  if (!ReadBytes(fd, bytes.data(), bytes.size()) || header.crc != Crc32(bytes)) {
    return std::nullopt;
  }
  return bytes;
}

// Nobody writes it: whoever began it has ended.
bool IsLeftOver(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

// A file that nobody else has; process ids would repeat between containers.
UniqueFd NewTemporary(const std::string& folder, std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  constexpr int kAttempts = 4;
  for (int i = 0; i < kAttempts; ++i) {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return UniqueFd();
    path = fmt::format("{}/{}{:016x}", folder, kTemporary, number);
    UniqueFd fd(open(path.c_str(), kFlags, 0600));
    if (fd.valid()) {
      flock(fd.get(), LOCK_EX | LOCK_NB);  // where there are no locks, the file is new all the same
      return fd;
    }
    if (errno != EEXIST) return UniqueFd();
  }
  return UniqueFd();
}

// Once, at the start: later it is a number in the metrics only.
void WarnUnlessWritable(const std::string& folder, const std::string& what) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!code && access(folder.c_str(), W_OK | X_OK) != 0) {
    code = std::error_code(errno, std::generic_category());
  }
  if (code) spdlog::warn("no {} are kept in {}: {}", what, folder, code.message());
}

}  // namespace

std::unique_ptr<DiskCache> DiskCache::Open(const std::string& folder, std::int64_t limit_bytes,
                                           const std::string& what) {
  std::unique_ptr<DiskCache> cache(new DiskCache(limit_bytes > 0 ? folder : "", limit_bytes, what));
  if (limit_bytes > 0 && folder.empty()) {
    spdlog::warn("no {} are kept: CACHE_DIRECTORY, XDG_CACHE_HOME and HOME are not set", what);
  }
  if (cache->folder_.empty()) return cache;
  WarnUnlessWritable(folder, what);
  cache->Adopt();
  return cache;
}

// What an earlier process left: files by the time they were last asked for; unfinished ones go.
void DiskCache::Adopt() {
  struct Found {
    std::string key;
    std::int64_t bytes;
    fs::file_time_type used;
  };
  std::vector<Found> found;
  std::error_code code;
  for (fs::directory_iterator at(folder_, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    const auto used = at->last_write_time(ignored);
    if (name.starts_with(kTemporary) && IsLeftOver(at->path())) fs::remove(at->path(), ignored);
    if (!IsKey(name)) continue;
    found.push_back({name, static_cast<std::int64_t>(at->file_size(ignored)), used});
  }
  std::ranges::sort(found, {}, &Found::used);
  for (const Found& file : found) {
    if (file.bytes <= limit_bytes_) {
      Remember({.key = file.key, .bytes = file.bytes});
    } else {  // of a higher limit, or not ours
      unlink(PathOf(file.key).c_str());
    }
  }
}

void DiskCache::Remember(Entry entry) {
  std::vector<std::string> evicted;
  {
    const MutexLock lock(mutex_);
    if (by_key_.contains(entry.key)) return;
    stats_.bytes += entry.bytes;
    entries_.push_front(std::move(entry));
    by_key_[entries_.front().key] = entries_.begin();
    while (stats_.bytes > limit_bytes_ && entries_.size() > 1) evicted.push_back(TakeOldest());
    stats_.files = static_cast<std::int64_t>(entries_.size());
  }
  for (const std::string& name : evicted) unlink(PathOf(name).c_str());
}

// Counts it as evicted; its file is still to be removed.
std::string DiskCache::TakeOldest() {
  stats_.bytes -= entries_.back().bytes;
  std::string key = std::move(entries_.back().key);
  by_key_.erase(key);
  entries_.pop_back();
  ++stats_.evicted;
  return key;
}

void DiskCache::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  stats_.bytes -= found->second->bytes;
  entries_.erase(found->second);
  by_key_.erase(found);
  stats_.files = static_cast<std::int64_t>(entries_.size());
}

namespace {

// Whether a file may be good that could not be opened for this: there is a want of descriptors or
// memory. What stays so, like missing rights, would keep its bytes from being stored ever again.
bool OpensLater(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM || code == EINTR;
}

}  // namespace

std::shared_ptr<const std::string> DiskCache::Get(const std::string& key) {
  {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      ++stats_.misses;
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    if (auto bytes = entries_.front().in_memory.lock()) {
      ++stats_.hits;
      return bytes;
    }
  }
  // What is no file of ours must not be waited for.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const UniqueFd fd(open(PathOf(key).c_str(), kFlags));
  const bool later = !fd.valid() && OpensLater(errno);
  auto read = fd.valid() ? ReadFile(fd.get(), largest()) : std::nullopt;
  if (read) futimens(fd.get(), nullptr);  // the order of use outlives the process
  if (!read && !later) Remove(key);
  const MutexLock lock(mutex_);
  ++(read ? stats_.hits : stats_.misses);
  if (!read) ++stats_.failed;
  if (!read) return nullptr;
  auto bytes = std::make_shared<const std::string>(*std::move(read));
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    if (auto others = found->second->in_memory.lock()) return others;  // read meanwhile
    found->second->in_memory = bytes;
  }
  return bytes;
}

// 0, or errno.
int DiskCache::WriteFile(const std::string& key, const std::string& bytes) {
  std::error_code code;
  fs::create_directories(folder_, code);
  std::string temporary;
  const UniqueFd fd = NewTemporary(folder_, temporary);
  if (!fd.valid()) return errno;
  Header header;
  header.bytes = bytes.size();
  header.crc = Crc32(bytes);
  const bool done = WriteWhole(fd.get(), {reinterpret_cast<const char*>(&header), sizeof header}) &&
                    WriteWhole(fd.get(), bytes) &&
                    rename(temporary.c_str(), PathOf(key).c_str()) == 0;
  if (done) return 0;
  const int failure = errno;
  unlink(temporary.c_str());
  return failure == 0 ? EIO : failure;
}

// The same where the disk may be smaller than the limit, or others fill it: then the oldest go, a
// few for each that comes, so that somebody else's flood does not empty the cache at once.
int DiskCache::WriteToDisk(const std::string& key, const std::string& bytes) {
  constexpr int kMostEvicted = 4;
  int code = WriteFile(key, bytes);
  const bool full = code == ENOSPC || code == EDQUOT;
  if (full && !OldestMakeRoom(sizeof(Header) + bytes.size(), kMostEvicted)) return code;
  for (int i = 0; i < kMostEvicted && (code == ENOSPC || code == EDQUOT); ++i) {
    std::string oldest;
    {
      const MutexLock lock(mutex_);
      if (!std::exchange(disk_was_full_, true)) {
        spdlog::warn("the disk of {} is full: the oldest {} go before their limit", folder_, what_);
      }
      if (entries_.empty()) return code;
      oldest = TakeOldest();
      stats_.files = static_cast<std::int64_t>(entries_.size());
    }
    unlink(PathOf(oldest).c_str());
    code = WriteFile(key, bytes);
  }
  return code;
}

// With what is free of it; nothing shall go in vain where others fill the disk.
bool DiskCache::OldestMakeRoom(std::size_t bytes, int most) const {
  struct statvfs disk {};
  if (statvfs(folder_.c_str(), &disk) != 0) return false;
  std::uint64_t room = disk.f_bavail * disk.f_frsize;
  const MutexLock lock(mutex_);
  for (auto oldest = entries_.rbegin(); oldest != entries_.rend() && most > 0; ++oldest, --most) {
    room += static_cast<std::uint64_t>(oldest->bytes);
  }
  return room >= bytes;
}

void DiskCache::Put(const std::string& key, const std::shared_ptr<const std::string>& bytes) {
  const auto size = static_cast<std::int64_t>(sizeof(Header) + bytes->size());
  if (!Takes(bytes->size())) return;
  {
    const MutexLock lock(mutex_);
    if (by_key_.contains(key)) return;
  }
  if (WriteToDisk(key, *bytes) != 0) {
    const MutexLock lock(mutex_);
    ++stats_.failed;
    return;
  }
  Remember({.key = key, .bytes = size, .in_memory = bytes});
  const MutexLock lock(mutex_);
  ++stats_.stored;
}

void DiskCache::Remove(const std::string& key) {
  unlink(PathOf(key).c_str());
  Forget(key);
}

void DiskCache::Drop(const std::string& key) {
  Remove(key);
  const MutexLock lock(mutex_);
  ++stats_.failed;
}

std::int64_t DiskCache::largest() const { return limit_bytes_ / kLargestShare; }

bool DiskCache::Has(const std::string& key) const {
  const MutexLock lock(mutex_);
  return by_key_.contains(key);
}

double DiskCache::fill() const {
  if (folder_.empty()) return 1;
  const MutexLock lock(mutex_);
  return static_cast<double>(stats_.bytes) / static_cast<double>(limit_bytes_);
}

bool DiskCache::Takes(std::size_t bytes) const {
  return !folder_.empty() && std::cmp_less_equal(sizeof(Header) + bytes, largest());
}

DiskCacheStats DiskCache::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

std::string DefaultSegmentFolder() {
  constexpr const char* kSegments = "/segments";
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read at start
    return value == nullptr ? "" : value;
  };
  if (const std::string folder = variable("CACHE_DIRECTORY"); !folder.empty()) {
    return folder.substr(0, folder.find(':')) + kSegments;
  }
  if (const std::string folder = variable("XDG_CACHE_HOME"); folder.starts_with('/')) {
    return folder + "/gopmill" + kSegments;
  }
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/gopmill" + kSegments;
}

}  // namespace gopmill
