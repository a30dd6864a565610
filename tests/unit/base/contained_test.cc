// SPDX-License-Identifier: Apache-2.0
#include "base/contained.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace gopmill {
namespace {

void Fail(void* reached) {
  *static_cast<bool*>(reached) = true;
  AnnounceAssertion();
  std::abort();
}

class ContainedTest : public ::testing::Test {
 protected:
  void SetUp() override { ContainAssertions(); }
  void TearDown() override { std::signal(SIGABRT, SIG_DFL); }
};

TEST_F(ContainedTest, ComesBackFromWhatReturns) {
  int result = 0;
  EXPECT_TRUE(ContainedCall([&] { result = 7; }));
  EXPECT_EQ(result, 7);
}

TEST_F(ContainedTest, ComesBackFromAnAssertionAgainAndAgain) {
  const int before = LeftBehind();
  for (int i = 1; i <= 3; ++i) {
    bool reached = false;
    EXPECT_FALSE(Contained(&Fail, &reached));
    EXPECT_TRUE(reached);
    EXPECT_EQ(LeftBehind(), before + i);
  }
}

TEST_F(ContainedTest, ConcernsItsOwnThread) {
  bool other = true, own = false;
  EXPECT_TRUE(ContainedCall([&] {
    std::thread([&] {
      bool reached = false;
      other = Contained(&Fail, &reached);
    }).join();
    own = true;
  }));
  EXPECT_FALSE(other);
  EXPECT_TRUE(own);
}

using ContainedDeathTest = ContainedTest;

TEST_F(ContainedDeathTest, EndsTheProcessElsewhere) {
  EXPECT_EXIT(std::abort(), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(
      {
        static_cast<void>(ContainedCall([] {}));
        AnnounceAssertion();
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST_F(ContainedDeathTest, EndsTheProcessWhereNoAssertionWasAnnounced) {
  EXPECT_EXIT(static_cast<void>(ContainedCall([] { std::abort(); })),
              ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(
      {
        bool reached = false;
        static_cast<void>(Contained(&Fail, &reached));
        static_cast<void>(ContainedCall([] { std::abort(); }));
      },
      ::testing::KilledBySignal(SIGABRT), "")
      << "an earlier announcement says nothing";
}

TEST_F(ContainedDeathTest, EndsTheProcessInWhatIsCalledBack) {
  EXPECT_EXIT(static_cast<void>(ContainedCall([] {
                const Uncontained ours;
                AnnounceAssertion();
                std::abort();
              })),
              ::testing::KilledBySignal(SIGABRT), "");
  bool reached = false;
  EXPECT_FALSE(ContainedCall([&] {
    { const Uncontained ours; }
    Fail(&reached);
  })) << "behind it, it is caught again";
}

TEST_F(ContainedDeathTest, EndsTheProcessWhereTooMuchIsLeftBehind) {
  EXPECT_EXIT(
      {
        bool reached = false;
        for (int i = 0; i <= kMaxLeftBehind; ++i) static_cast<void>(Contained(&Fail, &reached));
        std::exit(0);
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace gopmill
