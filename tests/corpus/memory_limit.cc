// SPDX-License-Identifier: Apache-2.0
#include "tests/corpus/memory_limit.h"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>

#include "tests/sanitized.h"

namespace {

std::atomic<std::int64_t> refused{0};
std::atomic<std::size_t> largest{0};

}  // namespace

#if !GOPMILL_SANITIZED
// In place of those of the C library, for all libraries of this program: FFmpeg allocates by
// posix_memalign and realloc, x264 by memalign, all others and `new` by malloc.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
}

namespace {

void* Noted(void* made, std::size_t size) {
  if (made != nullptr || size == 0) return made;
  ++refused;
  for (std::size_t before = largest; before < size;) {
    if (largest.compare_exchange_weak(before, size)) break;
  }
  return made;
}

}  // namespace

extern "C" int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  void* made = Noted(__libc_memalign(alignment, size), size);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

extern "C" void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return Noted(__libc_memalign(alignment, size), size);
}

extern "C" void* malloc(std::size_t size) noexcept { return Noted(__libc_malloc(size), size); }

extern "C" void* realloc(void* block, std::size_t size) noexcept {
  return Noted(__libc_realloc(block, size), size);
}
#endif

namespace gopmill {

void LimitMemory(std::size_t bytes) {
  if (GOPMILL_SANITIZED) return;
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

std::int64_t RefusedAllocations() { return refused; }
std::size_t LargestRefused() { return largest; }

}  // namespace gopmill
