// SPDX-License-Identifier: Apache-2.0
#include "server/cli/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <semaphore>
#include <stop_token>

#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/serve_signals.h"

namespace gopmill::cli {
namespace {

TEST(SignalWatcher, TurnsSignalsIntoCalls) {
  std::counting_semaphore<8> arrived(0);
  std::atomic<int> last{0};
  auto watcher = SignalWatcher::Start({SIGUSR1, SIGUSR2}, [&](int signal) {
    last = signal;
    arrived.release();
  });
  ASSERT_TRUE(watcher.ok());
  kill(getpid(), SIGUSR1);
  arrived.acquire();
  EXPECT_EQ(last.load(), SIGUSR1);
  kill(getpid(), SIGUSR2);
  arrived.acquire();
  EXPECT_EQ(last.load(), SIGUSR2);
}

// By default it ends the process.
TEST(HoldHangUp, AReloadThatIsAskedForEarlyComesLater) {
  HoldHangUp();
  kill(getpid(), SIGHUP);
  std::counting_semaphore<8> arrived(0);
  auto watcher = SignalWatcher::Start({SIGHUP}, [&](int) { arrived.release(); });
  ASSERT_TRUE(watcher.ok());
  EXPECT_TRUE(arrived.try_acquire_for(std::chrono::seconds(10)));
}

TEST(SignalWatcher, EndsWithoutASignal) {
  auto watcher = SignalWatcher::Start({SIGUSR1}, [](int) { FAIL(); });
  ASSERT_TRUE(watcher.ok());
}

// Asks again and again, as somebody at a terminal; the process ends by that or not at all.
[[noreturn]] void InterruptUntilTheEnd() {
  const std::stop_source stop;
  const auto watcher = StopOnSignals(stop, [] { fputs("cleared away", stderr); });
  while (true) {
    kill(getpid(), SIGINT);
    poll(nullptr, 0, 20);
  }
}

TEST(StopOnSignalsDeathTest, ASecondSignalClearsAwayAndEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(InterruptUntilTheEnd(), testing::ExitedWithCode(kInterrupted), "cleared away");
}

TEST(Impatience, AnEchoIsNotASecondRequest) {
  const auto at = [](int ms) { return TimePoint(std::chrono::milliseconds(ms)); };
  Impatience patience;
  EXPECT_FALSE(patience.OnRequest(at(1000)));
  EXPECT_FALSE(patience.OnRequest(at(1001)));
  EXPECT_FALSE(patience.OnRequest(at(1499)));
  EXPECT_TRUE(patience.OnRequest(at(1500)));
}

}  // namespace
}  // namespace gopmill::cli
