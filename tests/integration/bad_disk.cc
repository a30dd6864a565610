// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/bad_disk.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "base/status.h"
#include "base/thread_safety.h"

namespace gopmill::test {
namespace {

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> g_first_bad_byte = kNowhere;

struct Hung {
  Mutex mutex;
  CondVar changed;
  bool on GOPMILL_GUARDED_BY(mutex) = false;
  std::set<ino_t> files GOPMILL_GUARDED_BY(mutex);
  int waiting GOPMILL_GUARDED_BY(mutex) = 0;
};
Hung g_hung;
std::atomic<bool> g_any_hung = false;  // the program calls these before there is a g_hung

// What the C library's own does.
int PlainFstat(int fd, struct stat* status) {
  return static_cast<int>(syscall(SYS_fstat, fd, status));
}

ino_t FileAt(const std::string& path) {
  struct stat status {};
  GOPMILL_CHECK(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

bool ReadsBadBytes(int fd) {
  if (g_first_bad_byte == kNowhere) return false;
  struct stat status {};
  return PlainFstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         lseek(fd, 0, SEEK_CUR) >= g_first_bad_byte;
}

void WaitWhileHung(ino_t file) {
  if (!g_any_hung) return;
  const MutexLock lock(g_hung.mutex);
  if (!g_hung.on || !g_hung.files.contains(file)) return;
  ++g_hung.waiting;
  g_hung.changed.NotifyAll();
  while (g_hung.on) g_hung.changed.Wait(g_hung.mutex);
  --g_hung.waiting;
}

}  // namespace

FailingDisk::FailingDisk(std::int64_t first_bad_byte) { g_first_bad_byte = first_bad_byte; }
FailingDisk::~FailingDisk() { g_first_bad_byte = kNowhere; }

HungDisk::HungDisk(const std::string& path) {
  std::set<ino_t> files{FileAt(path)};
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files.insert(FileAt(entry.path()));
    }
  }
  const MutexLock lock(g_hung.mutex);
  g_hung.files = std::move(files);
  g_hung.on = true;
  g_any_hung = true;
}

HungDisk::~HungDisk() {
  const MutexLock lock(g_hung.mutex);
  g_any_hung = g_hung.on = false;
  g_hung.changed.NotifyAll();
}

bool HungDisk::AwaitWaiting(int count) {
  const MutexLock lock(g_hung.mutex);
  while (g_hung.waiting < count) {
    if (!g_hung.changed.WaitFor(g_hung.mutex, std::chrono::seconds(10))) return false;
  }
  return true;
}

}  // namespace gopmill::test

// In front of the C library's.

extern "C" ssize_t read(int fd, void* buffer, std::size_t size) {
  if (gopmill::test::ReadsBadBytes(fd)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_read, fd, buffer, size);
}

extern "C" int fstat(int fd, struct stat* status) noexcept {
  const int result = gopmill::test::PlainFstat(fd, status);
  if (result == 0) gopmill::test::WaitWhileHung(status->st_ino);
  return result;
}

// Goes on to the next one: tsan must hear of it.
extern "C" int close(int fd) {
  static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"));
  struct stat status {};
  if (gopmill::test::g_any_hung && gopmill::test::PlainFstat(fd, &status) == 0) {
    gopmill::test::WaitWhileHung(status.st_ino);
  }
  return next(fd);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  const std::string folder = std::filesystem::path(to).parent_path().string();
  struct stat status {};
  if (gopmill::test::g_any_hung && stat(folder.c_str(), &status) == 0) {
    gopmill::test::WaitWhileHung(status.st_ino);
  }
  return static_cast<int>(syscall(SYS_rename, from, to));
}
