// SPDX-License-Identifier: Apache-2.0
//
// The main function of every test program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <csignal>

int main(int argc, char** argv) {
  // A peer that closes its socket is a case under test, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  // Made here: where two threads are the first to log, tsan does not see the lock within which the
  // library, which is not built with it, makes its logger.
  spdlog::default_logger();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
