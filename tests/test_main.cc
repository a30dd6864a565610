// SPDX-License-Identifier: Apache-2.0
//
// The main function of every test program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  // A peer that closes its socket is a case under test, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
