// SPDX-License-Identifier: Apache-2.0
#include "server/cli/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <semaphore>

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

TEST(SignalWatcher, EndsWithoutASignal) {
  auto watcher = SignalWatcher::Start({SIGUSR1}, [](int) { FAIL(); });
  ASSERT_TRUE(watcher.ok());
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
