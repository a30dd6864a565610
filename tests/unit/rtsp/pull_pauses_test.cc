// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_pauses.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One attempt after the other, each of which fails after a while.
class PullPausesTest : public testing::Test {
 protected:
  // `sends_from`: since when something comes, from the attempt's begin.
  Duration Fail(Duration after, std::optional<Duration> sends_from = std::nullopt,
                bool refused = false) {
    pauses_.OnAttempt();
    if (sends_from) {
      pauses_.OnReceived(now_ + *sends_from);
      pauses_.OnReceived(now_ + after);  // each time that it is looked at
    }
    now_ += after;
    const Duration pause = pauses_.OnFailure(now_, refused);
    now_ += pause;
    return pause;
  }

 private:
  TimePoint now_ = SteadyNow();
  PullPauses pauses_{seconds(10)};
};

// It is noticed only after ten seconds each time.
TEST_F(PullPausesTest, GrowForAPeerThatDoesNotAnswer) {
  for (const Duration expected :
       {Duration(milliseconds(500)), Duration(seconds(1)), Duration(seconds(2)),
        Duration(seconds(4)), Duration(seconds(8)), Duration(seconds(10)), Duration(seconds(10))}) {
    EXPECT_EQ(Fail(seconds(10)), expected);
  }
}

TEST_F(PullPausesTest, BeginAnewBehindAPeerThatWorked) {
  for (int i = 0; i < 4; ++i) Fail(milliseconds(1));
  EXPECT_EQ(Fail(seconds(19), seconds(1)), milliseconds(500));
  EXPECT_EQ(Fail(seconds(9)), seconds(1)) << "what the attempt before received is over";
}

TEST_F(PullPausesTest, GrowForAPeerThatSendsForAMoment) {
  EXPECT_EQ(Fail(seconds(9), seconds(8)), milliseconds(500));
  EXPECT_EQ(Fail(seconds(9), seconds(8)), seconds(1));
}

// A packet, and ten seconds later it is known that there are no more.
TEST_F(PullPausesTest, GrowForAPeerThatFallsSilent) {
  EXPECT_EQ(Fail(seconds(11), seconds(1)), milliseconds(500));
  EXPECT_EQ(Fail(seconds(11), seconds(1)), seconds(1));
  EXPECT_EQ(Fail(seconds(11), seconds(1)), seconds(2));
}

TEST_F(PullPausesTest, AreLongWhereNameOrPasswordAreRefused) {
  for (const int expected : {5, 10, 20, 40, 60, 60}) {
    EXPECT_EQ(Fail(milliseconds(1), std::nullopt, true), seconds(expected));
  }
}

TEST_F(PullPausesTest, AreShortAgainOnceNoPasswordIsRefused) {
  for (int i = 0; i < 5; ++i) Fail(milliseconds(1), std::nullopt, true);
  EXPECT_EQ(Fail(milliseconds(1)), seconds(10));
}

}  // namespace
}  // namespace gopmill
