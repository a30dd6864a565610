// SPDX-License-Identifier: Apache-2.0
#include "media/sound_watch.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(SoundWatch, ATrackHasStoppedWhenItLiesFartherBehindThanEver) {
  SoundWatch watch;
  for (double t = 0; t < 5; t += 0.02) watch.OnSound(t + 0.02, t);
  EXPECT_FALSE(watch.HasStopped(5.9));
  EXPECT_TRUE(watch.HasStopped(6.1));
  watch.OnSound(8.0, 8.0);
  EXPECT_FALSE(watch.HasStopped(8.5)) << "it is back";
}

// Broadcasters send pictures long before they are shown.
TEST(SoundWatch, SoundThatIsAlwaysLateHasNotStopped) {
  SoundWatch watch;
  for (double t = 2; t < 20; t += 0.02) {
    EXPECT_FALSE(watch.HasStopped(t)) << t;
    watch.OnSound(t - 1.5, t);
  }
  EXPECT_TRUE(watch.HasStopped(21.1 + 1.5));
}

TEST(SoundWatch, ATrackThatNeverCameHasStoppedAfterTwoSeconds) {
  SoundWatch watch;
  EXPECT_FALSE(watch.HasStopped(1.9));
  EXPECT_TRUE(watch.HasStopped(2.1));
}

TEST(SoundWatch, WhoWasOnceFarBehindIsWaitedForTenSecondsAtMost) {
  SoundWatch watch;
  watch.OnSound(1, 100);
  watch.OnSound(100, 100);
  EXPECT_FALSE(watch.HasStopped(110.9));
  EXPECT_TRUE(watch.HasStopped(111.1));
}

}  // namespace
}  // namespace gopmill
