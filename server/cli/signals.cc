// SPDX-License-Identifier: Apache-2.0
#include "server/cli/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace gopmill::cli {

struct SignalWatcher::Impl {
  ~Impl() {
    if (thread.joinable()) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = write(stop_fd, &one, sizeof(one));
      thread.join();
    }
    if (signal_fd >= 0) close(signal_fd);
    if (stop_fd >= 0) close(stop_fd);
  }

  void Run() const {
    while (true) {
      pollfd waiting[] = {{signal_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
      if (poll(waiting, 2, -1) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (waiting[1].revents != 0) return;
      signalfd_siginfo info = {};
      if (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
        on_signal(static_cast<int>(info.ssi_signo));
      }
    }
  }

  int signal_fd = -1, stop_fd = -1;
  std::function<void(int)> on_signal;
  std::jthread thread;
};

SignalWatcher::SignalWatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SignalWatcher::~SignalWatcher() = default;

Result<std::unique_ptr<SignalWatcher>> SignalWatcher::Start(const std::vector<int>& signals,
                                                            std::function<void(int)> on_signal) {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : signals) sigaddset(&set, each);
  auto impl = std::make_unique<Impl>();
  impl->on_signal = std::move(on_signal);
  impl->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  impl->stop_fd = eventfd(0, EFD_CLOEXEC);
  if (impl->signal_fd < 0 || impl->stop_fd < 0 || pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) {
    return InternalError("Signals cannot be watched.", errno);
  }
  GOPMILL_ASSIGN_OR_RETURN(impl->thread, StartThread([raw = impl.get()] { raw->Run(); }));
  return std::unique_ptr<SignalWatcher>(new SignalWatcher(std::move(impl)));
}

bool Impatience::OnRequest(TimePoint now) {
  constexpr Duration kEcho = std::chrono::milliseconds(500);
  if (!first_) {
    first_ = now;
    return false;
  }
  return now - *first_ >= kEcho;
}

}  // namespace gopmill::cli
