// SPDX-License-Identifier: Apache-2.0
#include "base/contained.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <utility>

#include "base/log.h"

namespace gopmill {
namespace {

thread_local sigjmp_buf* place = nullptr;
thread_local bool announced = false;
std::atomic<int> left_behind = 0;

// abort() holds no lock while it raises its signal, for handlers that do not return.
void OnAbort(int number) noexcept {
  sigjmp_buf* const to = std::exchange(place, nullptr);
  const bool caught = to != nullptr && announced;
  if (caught && left_behind.fetch_add(1) < kMaxLeftBehind) siglongjmp(*to, 1);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

void ContainAssertions() {
  struct sigaction action {};
  action.sa_handler = &OnAbort;
  // It is left without returning, so the signal must not stay blocked.
  action.sa_flags = SA_NODEFER;
  sigaction(SIGABRT, &action, nullptr);
}

bool Contained(void (*work)(void*), void* data) noexcept {
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    spdlog::warn(
        "a library failed an assertion of its own; what it worked on is left behind ({} of {})",
        LeftBehind(), kMaxLeftBehind);
    return false;
  }
  announced = false;
  place = &here;
  work(data);
  place = nullptr;
  return true;
}

void AnnounceAssertion() noexcept { announced = true; }

Uncontained::Uncontained() noexcept : place_(std::exchange(place, nullptr)) {}
Uncontained::~Uncontained() { place = static_cast<sigjmp_buf*>(place_); }

int LeftBehind() { return left_behind.load(); }

}  // namespace gopmill
