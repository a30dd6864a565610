// SPDX-License-Identifier: Apache-2.0
#include "server/cli/serve_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"

namespace gopmill::cli {
namespace {

bool TerminalOpens() { return UniqueFd(open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)).valid(); }

[[noreturn]] void GiveUp() {
  spdlog::error(
      "not all has ended {} s behind the drain: something that was called does not "
      "come back",
      kEndPatience.count());
  _exit(kFailed);
}

}  // namespace

void HoldHangUp() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void SetAlarm(std::chrono::seconds time) { alarm(static_cast<unsigned>(time.count())); }

Terminal::Terminal() : had_(!IgnoresHangUp() && TerminalOpens()) {}

void Terminal::Look() {
  if (!TerminalOpens()) had_ = false;
}

bool Terminal::Gone() const { return had_ && !TerminalOpens(); }

SignalQueue::SignalQueue(const Terminal& terminal, std::chrono::seconds drain)
    : terminal_(terminal) {
  SetDrain(drain);
}

void SignalQueue::SetDrain(std::chrono::seconds drain) {
  const MutexLock lock(mutex_);
  drain_ = drain;
}

void SignalQueue::Push(int signal) {
  if (signal == SIGALRM) GiveUp();
  const bool ends = signal != SIGHUP || terminal_.Gone();
  const MutexLock lock(mutex_);
  if (ends) Begin();
  if (signal != SIGHUP && patience_.OnRequest(SteadyNow())) _exit(kInterrupted);
  waiting_.push_back(ends ? SIGTERM : SIGHUP);
  arrived_.NotifyOne();
}

void SignalQueue::EndBegins() {
  const MutexLock lock(mutex_);
  Begin();
}

void SignalQueue::Begin() {
  if (!std::exchange(ending_, true)) SetAlarm(drain_ + kEndPatience);
}

std::optional<int> SignalQueue::Pop(Duration patience) {
  const MutexLock lock(mutex_);
  const TimePoint deadline = SteadyNow() + patience;
  while (waiting_.empty() && SteadyNow() < deadline) {
    arrived_.WaitFor(mutex_, deadline - SteadyNow());
  }
  if (waiting_.empty()) return std::nullopt;
  const int signal = waiting_.front();
  waiting_.pop_front();
  return signal;
}

}  // namespace gopmill::cli
